// The main job's figure: what the host pays for a step of the demo's day, on the runtime, kernel by
// kernel, and as serving engines use graphs today.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/open.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"
#include "tools/demo_model/comparison.h"
#include "tools/demo_model/trace.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Median;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

// Whole days, each served in all ways: the medians over the days of each day's median step.
Outcome Decode(const char* name, demo::WayNumber against) {
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(name);
  if (!device.ok()) return Skipped(std::string(device.status().message()));
  demo::DemoOptions options;
  options.requests = demo::MakeTrace(1, bench::Smoke() ? 12 : 200, options.most_requests);
  std::vector<double> ours, theirs;
  for (int day = 0; day < (bench::Smoke() ? 1 : 3); ++day) {
    GRAPHTREE_ASSIGN_OR_RETURN(const demo::Comparison comparison,
                               demo::Compare(**device, options));
    for (int way : {demo::kEngine, demo::kGraphtree}) {
      if (!comparison.differences[way].has_value()) continue;
      return absl::InternalError(absl::StrCat("the tokens of step ",
                                              comparison.differences[way]->step, " differ: ",
                                              demo::WayName(way)));
    }
    ours.push_back(demo::FiguresOf(comparison, demo::kGraphtree).host_ns);
    theirs.push_back(demo::FiguresOf(comparison, against).host_ns);
  }
  GRAPHTREE_RETURN_IF_ERROR((*device)->Close());
  return Measurement{.ours = Median(ours), .baseline = Median(theirs)};
}

bool RegisterAll() {
  RegisterRow({.name = "runtime.cuda.demo_step",
               .ours = "host time of a step of the demo's day",
               .against = "its kernels one by one",
               .goal = "ratio <= 0.05"},
              [] { return Decode("cuda", demo::kEager); });
  RegisterRow({.name = "runtime.cuda.demo_step_of_engines",
               .ours = "host time of a step of the demo's day",
               .against = "inputs one by one, then a graph"},
              [] { return Decode("cuda", demo::kEngine); });
  // The host device runs kernels on the calling thread's time: it has no goal.
  RegisterRow({.name = "runtime.host.demo_step",
               .ours = "host time of a step of the demo's day",
               .against = "its kernels one by one"},
              [] { return Decode("host", demo::kEager); });
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
