// The median of some replays of each graph.
#include "runtime/core/launch_cost.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "device/base/status_macros.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"

namespace graphtree {
namespace {

constexpr int kReplays = 25;
constexpr int kFewOps = 16;
constexpr int kManyOps = 256;

// Pads a row of any bytes, again and again: a kernel of the library itself, on every device.
Values PadManyTimes(Launcher& on, int ops) {
  const Tensor row = on.Empty(DType::kU8, {64});
  Tensor padded;
  for (int i = 0; i < ops && on.ok(); ++i) padded = on.Pad(row, {128}, 0);
  return {padded};
}

absl::StatusOr<double> MedianNs(Tree& tree, int ops, Stream& stream, const ClockNs& clock) {
  const FunctionId function =
      tree.Register("launch cost", {}, [ops](Launcher& on, Values&) -> Values {
        return PadManyTimes(on, ops);
      });
  std::vector<double> times;
  Values outputs;
  for (int i = 0; i < kReplays + 2; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
    GRAPHTREE_ASSIGN_OR_RETURN(const int64_t began, LookAt(clock));
    tree.BeginStep();
    GRAPHTREE_RETURN_IF_ERROR(tree.Run(function, {}, stream, &outputs));
    GRAPHTREE_ASSIGN_OR_RETURN(const int64_t ended, LookAt(clock));
    if (tree.last_call().route == CallRoute::kReplayed) {
      times.push_back(static_cast<double>(ended - began));
    }
  }
  if (times.empty()) return absl::InternalError("the graphs to measure with were not replayed");
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

}  // namespace

absl::StatusOr<LaunchCost> MeasureLaunchCost(Device& device, const ClockNs& clock) {
  TreeOptions options;
  options.pool_bytes = uint64_t{4} << 20;
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Tree> tree, Tree::Create(device, options));
  GRAPHTREE_ASSIGN_OR_RETURN(const double few, MedianNs(*tree, kFewOps, *stream, clock));
  GRAPHTREE_ASSIGN_OR_RETURN(const double many, MedianNs(*tree, kManyOps, *stream, clock));
  const double per_op = std::max(0.0, (many - few) / (kManyOps - kFewOps));
  return LaunchCost{std::max(0.0, few - kFewOps * per_op), per_op};
}

}  // namespace graphtree
