// How far shadow's estimate of a replay is off what the replay then takes: the host's time of a
// step as mode shadow tells it before anything is recorded, beside the same steps replayed. Graphs
// of three sizes; the device is idle when a step begins.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/explain.h"
#include "runtime/recording_plan.h"
#include "runtime/serving.h"
#include "tests/bare/plan_world.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr int32_t kTokens = 8;

absl::Status RunSteps(PlanWorld& world, int count) {
  for (int step = 0; step < count; ++step) {
    GRAPHTREE_RETURN_IF_ERROR(world.Step(world.program(), kTokens, world.on().stream()));
    GRAPHTREE_RETURN_IF_ERROR(world.on().stream().Synchronize());
  }
  return absl::OkStatus();
}

// The estimate and the truth, in microseconds.
absl::StatusOr<Measurement> MeasureShadow(const char* device, uint32_t layers) {
  PlanWorldOptions options;
  options.layers = layers;
  options.tokens = {kTokens};
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> world,
                             PlanWorld::Make(device, options));
  Runtime& runtime = world->runtime();
  const int steps = bench::Smoke() ? 40 : 2000;
  GRAPHTREE_RETURN_IF_ERROR(runtime.SetServing({.serving = Serving::kShadow}));
  GRAPHTREE_RETURN_IF_ERROR(RunSteps(*world, bench::Smoke() ? 4 : 100));
  const double estimate = runtime.Explain().programs[0].shapes[0].shadow.replay_us;
  GRAPHTREE_RETURN_IF_ERROR(runtime.SetServing({}));
  GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, runtime.Plan({}, 0));
  GRAPHTREE_RETURN_IF_ERROR(runtime.RecordPlan(plan, world->on().stream()).status());
  GRAPHTREE_RETURN_IF_ERROR(RunSteps(*world, steps));
  const Explanation after = runtime.Explain();
  const ExplainedTime& replays =
      after.programs[0].shapes[0].times[static_cast<size_t>(CallRoute::kReplayed)];
  if (replays.timed == 0) return absl::InternalError("no replay was timed");
  return Measurement{.ours = estimate, .baseline = replays.mean_us()};
}

// How far the estimate is off, in percent.
Measurement ErrorOf(const Measurement& both) {
  return {.ours = 100 * std::abs(both.ours - *both.baseline) / *both.baseline};
}

void RegisterSize(const std::string& device, uint32_t layers) {
  const auto measure = [device, layers](Measurement (*row)(const Measurement&)) -> Outcome {
    const absl::StatusOr<Measurement> measured = MeasureShadow(device.c_str(), layers);
    if (measured.ok()) return row(*measured);
    if (device != "cuda") return measured.status();
    return Skipped(std::string(measured.status().message()));
  };
  const uint32_t ops = 1 + 8 * layers;
  RegisterRow({.name = absl::StrCat("runtime.shadow.", device, ".replay.", ops),
               .ours = absl::StrCat("what shadow tells of a replay of ", ops, " kernels"),
               .against = "as it is then timed",
               .unit = "us"},
              [measure] { return measure([](const Measurement& both) { return both; }); });
  RegisterRow({.name = absl::StrCat("runtime.shadow.", device, ".error_percent.", ops),
               .ours = "how far off that is",
               .unit = "",
               .goal = device == "cuda" ? "value <= 15" : ""},
              [measure] { return measure(ErrorOf); });
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    for (const uint32_t layers : {2u, 8u, 48u}) RegisterSize(device, layers);
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
