// Checks what a launch or a fill asks for against the limits of GPUs, so that a call that the host
// device takes is one that a GPU takes, too.
//
// Pure.
#ifndef GRAPHTREE_DEVICE_HOST_OPS_LAUNCH_LIMITS_H_
#define GRAPHTREE_DEVICE_HOST_OPS_LAUNCH_LIMITS_H_

#include "absl/status/status.h"
#include "device/graph.h"
#include "device/kernel.h"

namespace graphtree::host {

// The kernel has a host body, the arguments are those that it takes, the shape is within the
// limits.
absl::Status CheckLaunch(const Kernel& kernel, const LaunchShape& shape, Arguments arguments);
// The width is one that devices know, and the target is aligned to it.
absl::Status CheckFill(const FillParams& fill);

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OPS_LAUNCH_LIMITS_H_
