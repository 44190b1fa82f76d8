// The main job's figure: what the host pays for a decoding step of the demo's model, through the
// tree and kernel by kernel.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/open.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"
#include "tools/demo_model/comparison.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Median;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

// Whole days, each decoded both ways: the medians over the days of each day's median step.
Outcome Decode(const char* name) {
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(name);
  if (!device.ok()) return Skipped(std::string(device.status().message()));
  demo::DemoOptions options;
  if (bench::Smoke()) options.steps = 12;
  std::vector<double> tree, eager;
  for (int day = 0; day < (bench::Smoke() ? 1 : 3); ++day) {
    GRAPHTREE_ASSIGN_OR_RETURN(const demo::Comparison comparison,
                               demo::Compare(**device, options));
    if (comparison.first_difference.has_value()) {
      return absl::InternalError(
          absl::StrCat("the tokens of step ", *comparison.first_difference, " differ"));
    }
    const demo::Summary summary = demo::Summarise(comparison);
    tree.push_back(summary.tree.host_ns);
    eager.push_back(summary.eager.host_ns);
  }
  GRAPHTREE_RETURN_IF_ERROR((*device)->Close());
  return Measurement{.ours = Median(tree), .baseline = Median(eager)};
}

bool RegisterAll() {
  RegisterRow({.name = "tree.cuda.decoding_step",
               .ours = "host time of a decoding step of the demo",
               .against = "its kernels one by one",
               .goal = "ratio <= 0.05"},
              [] { return Decode("cuda"); });
  // The host device runs kernels on the calling thread's time: it has no goal.
  RegisterRow({.name = "tree.host.decoding_step",
               .ours = "host time of a decoding step of the demo",
               .against = "its kernels one by one"},
              [] { return Decode("host"); });
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
