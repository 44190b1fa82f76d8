// What the host pays to replay a graph of so many ops on a device, measured: two graphs of small
// kernels, in a tree of their own that goes again, and a line through both. (Fills would not do: on
// CUDA the host pays for each fill of a graph, and nearly nothing for a kernel.)
//
//   host time of a replay = base + per_op * ops
//
// For shadow's estimate, as nothing of the caller's may be recorded then. Cost: some milliseconds.
#ifndef GRAPHTREE_RUNTIME_CORE_LAUNCH_COST_H_
#define GRAPHTREE_RUNTIME_CORE_LAUNCH_COST_H_

#include "absl/status/statusor.h"
#include "device/device.h"
#include "runtime/watch/clock.h"
#include "runtime/watch/watch.h"

namespace graphtree {

absl::StatusOr<LaunchCost> MeasureLaunchCost(Device& device, const ClockNs& clock);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_LAUNCH_COST_H_
