// What it costs a whole step that steps are watched: counted, logged, timed now and then. Beside
// the same step of a runtime that watches none; and again while a reader asks for all metrics ten
// times a second. The graph has a kernel and the unpack op, so that the host's time shows.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/metrics.h"
#include "runtime/recording_plan.h"
#include "tests/bare/plan_world.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr int32_t kTokens = 8;

absl::StatusOr<std::unique_ptr<PlanWorld>> Recorded(const char* device, bool watches_steps) {
  PlanWorldOptions options;
  options.layers = 0;
  options.tokens = {kTokens};
  options.watches_steps = watches_steps;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<PlanWorld> world, PlanWorld::Make(device, options));
  GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan, world->runtime().Plan({}, 0));
  GRAPHTREE_RETURN_IF_ERROR(
      world->runtime().RecordPlan(plan, world->on().stream()).status());
  return world;
}

absl::StatusOr<Measurement> MeasureWatching(const char* device) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> on, Recorded(device, true));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> off, Recorded(device, false));
  absl::Status status;
  const auto step = [&status](PlanWorld& world) {
    status.Update(world.Step(world.program(), kTokens, world.on().stream()));
  };
  bench::TimingOptions options;
  options.batches = 1001;
  options.batch_ns = 100'000;
  options.most_calls = 64;  // fewer than a device queues
  options.between = [&] {
    status.Update(on->on().stream().Synchronize());
    status.Update(off->on().stream().Synchronize());
  };
  const Measurement measured =
      bench::ComparePair([&] { step(*on); }, [&] { step(*off); }, options);
  GRAPHTREE_RETURN_IF_ERROR(status);
  return measured;
}

// A reader reads the lane's counters, and looks into its tree.
absl::StatusOr<Measurement> MeasureReader(const char* device) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<PlanWorld> on, Recorded(device, true));
  absl::Status status;
  const auto step = [&] {
    status.Update(on->Step(on->program(), kTokens, on->on().stream()));
  };
  std::mutex mutex;
  std::condition_variable changed;
  bool reads = true, is_over = false;  // guarded by mutex
  std::thread reader([&] {
    std::unique_lock<std::mutex> lock(mutex);
    while (!is_over) {
      if (reads) bench::DoNotOptimize(on->runtime().metrics().lanes.size());
      changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return is_over; });
    }
  });
  const auto set = [&](bool& what, bool value) {
    const std::lock_guard<std::mutex> lock(mutex);
    what = value;
    changed.notify_one();
  };
  bench::TimingOptions options;
  options.batches = 1001;
  options.batch_ns = 100'000;
  options.most_calls = 64;
  options.between = [&] { status.Update(on->on().stream().Synchronize()); };
  const Measurement beside = bench::Measure(step, options);
  set(reads, false);
  const Measurement alone = bench::Measure(step, options);
  set(is_over, true);
  reader.join();
  GRAPHTREE_RETURN_IF_ERROR(status);
  return Measurement{.ours = beside.ours, .baseline = alone.ours, .spread = beside.spread};
}

void Register(const std::string& device, const char* name, const char* ours, const char* against,
              absl::StatusOr<Measurement> (*measure)(const char*)) {
  RegisterRow({.name = absl::StrCat("runtime.metrics.", device, ".", name),
               .ours = ours,
               .against = against,
               .goal = device == "cuda" ? "difference <= 20 ns" : ""},
              [device, measure]() -> Outcome {
                const absl::StatusOr<Measurement> measured = measure(device.c_str());
                if (measured.ok() || device != "cuda") return measured;
                return Skipped(std::string(measured.status().message()));
              });
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    Register(device, "step", "a step that is watched", "one that is not", MeasureWatching);
    Register(device, "step.reader", "a step while metrics are read ten times a second",
             "while nobody reads", MeasureReader);
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
