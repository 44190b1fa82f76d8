// What it costs that stale outputs are always found: a step of replays whose outputs are passed on,
// and held into the next step, beside the same step of the same tree without all that is there for
// it: nothing is marked when the step begins, nobody asks at a call, nothing is made fresh again.
//
// A tree cannot do without it, so the library of planted bugs is measured, where it can be left out
// (PlantedBug::kNoStaleChecks). That library asks at every turn which bug is planted, on both sides
// alike.
//
// The ratio is a GPU's, where a launch costs microseconds. Handing a launch to the host device
// costs a tenth of that, so its rows bound the difference.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/run/planted_bug.h"
#include "tests/bare/tree_bench_world.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::Skipped;

Outcome StaleChecks(const char* device, uint32_t functions) {
  const BenchShape shape = {.statics = 1, .functions = functions};
  absl::StatusOr<std::unique_ptr<BenchWorld>> world = BenchWorld::Make(device, shape);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  BenchWorld& w = **world;
  GRAPHTREE_RETURN_IF_ERROR(w.WarmUp());
  bench::TimingOptions options;
  options.most_calls = 48 / functions;
  options.batches = 601;
  options.between = [&w] { w.Drain(); };
  absl::Status status;
  const auto step_with = [&](PlantedBug bug) {
    ThePlantedBug() = bug;
    status.Update(w.Step());
  };
  const uint64_t replays = w.replays();
  const Measurement pair =
      bench::ComparePair([&] { step_with(PlantedBug::kNone); },
                         [&] { step_with(PlantedBug::kNoStaleChecks); }, options);
  ThePlantedBug() = PlantedBug::kNone;
  if (!status.ok()) return status;
  if (w.replays() == replays) return absl::InternalError("nothing was replayed");
  if (w.recordings() != functions) {
    return absl::InternalError(absl::StrCat(w.recordings(), " recordings"));
  }
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    for (const uint32_t functions : {1, 4}) {
      bench::RegisterRow(
          {.name = absl::StrCat("tree.", device, ".stale_checks_", functions),
           .ours = absl::StrCat("a step of ", functions, functions == 1 ? " replay" : " replays"),
           .against = "the same without what finds stale outputs",
           .goal = device == std::string("cuda")
                       ? "ratio <= 1.01"
                       : absl::StrCat("difference <= ", 20 * functions, " ns")},
          [device, functions] { return StaleChecks(device, functions); });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
