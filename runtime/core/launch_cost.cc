// The median of some replays of each graph.
#include "runtime/core/launch_cost.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/reason.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"

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

absl::Status NotReplayed(std::optional<Reason> why) {
  if (!why.has_value()) {
    return absl::InternalError("the graphs to measure with were not replayed");
  }
  const std::string text = absl::StrCat("the graphs to measure with were not replayed: ",
                                        ReasonSentence(*why));
  return IsLackOfRoom(*why) ? absl::ResourceExhaustedError(text) : absl::InternalError(text);
}

absl::StatusOr<double> MedianNs(Tree& tree, int ops, Stream& stream, const ClockNs& clock) {
  const FunctionId function =
      tree.Register("launch cost", {}, [ops](Launcher& on, Values&) -> Values {
        return PadManyTimes(on, ops);
      });
  std::vector<double> times;
  std::optional<Reason> why_eager;  // the first time: later ones wait before they try again
  Values outputs;
  for (int i = 0; i < kReplays + 2; ++i) {
    GRAPHTREE_RETURN_IF_ERROR(stream.Synchronize());
    GRAPHTREE_ASSIGN_OR_RETURN(const int64_t began, LookAt(clock));
    tree.BeginStep();
    GRAPHTREE_RETURN_IF_ERROR(tree.Run(function, {}, stream, &outputs));
    GRAPHTREE_ASSIGN_OR_RETURN(const int64_t ended, LookAt(clock));
    const LastCall last = tree.last_call();
    if (last.route == CallRoute::kReplayed) times.push_back(static_cast<double>(ended - began));
    if (last.route == CallRoute::kRanEagerly && !why_eager.has_value()) why_eager = last.reason;
  }
  if (times.empty()) return NotReplayed(why_eager);
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
