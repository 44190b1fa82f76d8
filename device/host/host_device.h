// The host device: runs the whole library on a machine without a GPU.
//
//   auto device = OpenHostDevice({.seed = 7});
//
// Work is queued and runs when someone waits for it, in an order that the seed picks among the
// ready ops of all streams: the same seed and the same calls give the same trace, and a missing
// event shows as wrong bytes. It also is reported: an op that touches memory that is not mapped,
// that was freed (Memory::NoteDead) or that another stream touches in no order loses the device,
// and the status that every later call returns names the op. Freed and fresh bytes are poisoned.
//
// Differences from a GPU: kernels run on this process's memory one at a time (unless kThreads), a
// programmatic edge orders like a full one, and nothing runs before someone waits or asks.
//
// Safe from several threads.
#ifndef GRAPHTREE_DEVICE_HOST_HOST_DEVICE_H_
#define GRAPHTREE_DEVICE_HOST_HOST_DEVICE_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/device.h"
#include "device/host/host_options.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<Device>> OpenHostDevice(const HostOptions& options = {});

// For a host body that runs an interpreter. Where `body` touches memory that is not there the
// device would jump out of it, and nobody would give the interpreter's locks back: instead the
// process ends, with words that begin with `what`. REQUIRES: a host device was opened.
void RunOrEnd(absl::string_view what, absl::FunctionRef<void()> body);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_HOST_HOST_DEVICE_H_
