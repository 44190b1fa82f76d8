// Opening a host device.
#include "device/host/host_device.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/guarded_call.h"
#include "device/base/known_enum.h"
#include "device/error.h"
#include "device/host/checks/fault_guard.h"
#include "device/host/objects/device_impl.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<Device>> OpenHostDevice(const HostOptions& options) {
  if (options.memory_bytes == 0 || options.queue_limit == 0) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("opening a host device of ", options.memory_bytes,
                                    " bytes with queues of ", options.queue_limit, " ops"));
  }
  if (!IsKnown(options.scheduler, HostScheduler::kThreads)) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("opening a host device with ",
                                    NotKnown("scheduler", options.scheduler)));
  }
  return std::make_unique<host::HostDevice>(options);
}

void RunOrEnd(absl::string_view what, absl::FunctionRef<void()> body) {
  std::exception_ptr thrown;
  const host::Fault fault = host::RunGuarded([&] { thrown = Caught(body); });
  GRAPHTREE_CHECK(!fault.happened) << what << " touched " << host::PlaceOf(fault)
                                   << ", in the middle of an interpreter, which nothing survives";
  ThrowOn(std::move(thrown));
}

}  // namespace graphtree
