// Runs a test's body once for every n, with the n-th device call failing.
//
//   const uint64_t calls = ForEveryFailingCall(MakeHost, [](FaultDevice& device) {
//     Pool pool(device.memory());
//     const absl::Status status = pool.Grow(1 << 21);
//     EXPECT_EQ(status.ok(), device.plan().fired() == 0);   // whatever the body promises
//   });
//   EXPECT_GE(calls, 4u);
//
// n counts up from 1 until the body runs through without its fault having fired; that last run is
// the one without a fault. Each n gets a device of its own. After each run the plan is cleared and
// the device must close with nothing left: whatever failed, nothing may leak. A body that never
// ends its calls is stopped at `max_calls`. A sanitizer's build lets each of the first hundred
// calls fail, and one in three of those after them.
#ifndef GRAPHTREE_DEVICE_FAULT_EVERY_CALL_H_
#define GRAPHTREE_DEVICE_FAULT_EVERY_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "device/device.h"
#include "device/fault/fault_device.h"

namespace graphtree {

struct EveryCallOptions {
  ErrorCode code = ErrorCode::kOutOfMemory;
  uint64_t first = 1;
  uint64_t max_calls = 100000;
};

// The last call in whose run the fault fired: how many device calls the body makes at most.
uint64_t ForEveryFailingCall(const std::function<std::unique_ptr<Device>()>& make,
                             const std::function<void(FaultDevice&)>& body,
                             const EveryCallOptions& options = {});

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_FAULT_EVERY_CALL_H_
