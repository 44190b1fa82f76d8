// What a replay through the tree costs beside the launch it makes, on every device that is there.
//
// The host rows track the same paths, so that a regression shows without a GPU.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/bare/tree_bench_world.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Median;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

// Ours: BeginStep and a call of each function. Against: launches of as many equal graphs, the first
// of which is patched if inputs move.
Outcome Replays(const char* device, const BenchShape& shape) {
  absl::StatusOr<std::unique_ptr<BenchWorld>> world = BenchWorld::Make(device, shape);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  BenchWorld& w = **world;
  absl::Status status = w.WarmUp();
  if (!status.ok()) return status;
  bench::TimingOptions options;
  options.most_calls = 48 / shape.functions;
  options.batches = 301;
  options.between = [&w] { w.Drain(); };
  const uint64_t replays = w.replays();
  const Measurement pair =
      ComparePair([&] { status.Update(w.Step()); }, [&] { w.BareStep(); }, options);
  if (!status.ok()) return status;
  if (absl::Status bare = w.bare_status(); !bare.ok()) return bare;
  if (w.replays() == replays) return absl::InternalError("nothing was replayed");
  if (w.recordings() != shape.functions * shape.siblings) {
    return absl::InternalError(absl::StrCat(w.recordings(), " recordings"));
  }
  return pair;
}

struct RowPlan {
  const char* name;
  BenchShape shape;
  const char* ours;
  const char* against;
  const char* goal;
};

const RowPlan kPlans[] = {
    {"static_1", {.statics = 1}, "replay, 1 static input", "a bare launch", "difference <= 150 ns"},
    {"static_256", {.statics = 256}, "replay, 256 static inputs", "a bare launch",
     "difference <= 300 ns"},
    {"copied_8", {.statics = 1, .copied = 8}, "replay, 8 copied inputs that moved",
     "a bare patch and launch", "difference <= 300 ns"},
    {"copied_32", {.statics = 1, .copied = 32}, "replay, 32 copied inputs that moved",
     "a bare patch and launch", "difference <= 500 ns"},
    {"path_4", {.statics = 1, .functions = 4}, "a path of four functions",
     "bare launches of four graphs", "difference <= 600 ns"},
};

// The last two of many siblings in turn, beside the first two: another one each time, so that each
// is looked up and not only compared with the one taken last.
Outcome Siblings(const char* device) {
  constexpr uint32_t kSiblings = 1000;
  absl::StatusOr<std::unique_ptr<BenchWorld>> world =
      BenchWorld::Make(device, {.statics = 1, .siblings = kSiblings});
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  BenchWorld& w = **world;
  GRAPHTREE_RETURN_IF_ERROR(w.WarmUp());
  absl::Status status;
  bench::TimingOptions options;
  options.most_calls = 48;
  options.batches = 301;
  options.between = [&w] { w.Drain(); };
  const auto step_with = [&](uint32_t first) {
    w.UseSiblings(first);
    status.Update(w.Step());
  };
  const Measurement pair = ComparePair([&] { step_with(kSiblings - 2); },
                                       [&] { step_with(0); }, options);
  if (!status.ok()) return status;
  return pair;
}

// The last call of a deep path beside the first, each timed alone.
Outcome Depth(const char* device) {
  absl::StatusOr<std::unique_ptr<BenchWorld>> world =
      BenchWorld::Make(device, {.statics = 1, .functions = 200});
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  BenchWorld& w = **world;
  GRAPHTREE_RETURN_IF_ERROR(w.WarmUp());
  std::vector<double> first;
  std::vector<double> last;
  for (int round = 0; round < (bench::Smoke() ? 3 : 301); ++round) {
    absl::StatusOr<StepTimes> times = w.TimedStep();
    if (!times.ok()) return times.status();
    first.push_back(times->first_ns);
    last.push_back(times->last_ns);
  }
  return Measurement{.ours = Median(last), .baseline = Median(first)};
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    for (const RowPlan& plan : kPlans) {
      RegisterRow({.name = absl::StrCat("tree.", device, ".replay.", plan.name),
                   .ours = plan.ours,
                   .against = plan.against,
                   .goal = plan.goal},
                  [device, &plan] { return Replays(device, plan.shape); });
    }
    RegisterRow({.name = absl::StrCat("tree.", device, ".replay.sibling_1000"),
                 .ours = "the last two of 1,000 siblings in turn",
                 .against = "the first two",
                 .goal = "ratio <= 1.15"},
                [device] { return Siblings(device); });
    RegisterRow({.name = absl::StrCat("tree.", device, ".replay.level_200"),
                 .ours = "the 200th call of a path",
                 .against = "the first",
                 .goal = "ratio <= 1.15"},
                [device] { return Depth(device); });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
