// The device itself; what it hands out is wrapped in fault_stream.h and fault_graph.h.
#include "device/fault/fault_device.h"

#include <utility>

#include "device/base/status_macros.h"
#include "device/fault/fault_stream.h"

namespace graphtree {

FaultDevice::FaultDevice(std::unique_ptr<Device> wrapped)
    : wrapped_(std::move(wrapped)), memory_(&wrapped_->memory(), &plan_) {}

absl::StatusOr<std::unique_ptr<Stream>> FaultDevice::NewStream() {
  GRAPHTREE_RETURN_IF_ERROR(plan_.Enter("Device.NewStream"));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, wrapped_->NewStream());
  return std::make_unique<FaultStream>(this, &plan_, std::move(stream));
}

absl::StatusOr<std::unique_ptr<Stream>> FaultDevice::AdoptStream(NativeStream native) {
  GRAPHTREE_RETURN_IF_ERROR(plan_.Enter("Device.AdoptStream"));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, wrapped_->AdoptStream(native));
  return std::make_unique<FaultStream>(this, &plan_, std::move(stream));
}

absl::StatusOr<std::unique_ptr<Event>> FaultDevice::NewEvent(const EventOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(plan_.Enter("Device.NewEvent"));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, wrapped_->NewEvent(options));
  return std::make_unique<FaultEvent>(&plan_, std::move(event));
}

absl::Status FaultDevice::Load(const Kernel& kernel) {
  GRAPHTREE_RETURN_IF_ERROR(plan_.Enter("Device.Load"));
  return wrapped_->Load(kernel);
}

absl::Status FaultDevice::health() const {
  const absl::Status lost = plan_.lost();
  return lost.ok() ? wrapped_->health() : lost;
}

absl::Status FaultDevice::Close() {
  if (plan_.lost().ok()) GRAPHTREE_RETURN_IF_ERROR(plan_.Enter("Device.Close"));
  GiveBackLeftovers().IgnoreError();
  return wrapped_->Close();
}

}  // namespace graphtree
