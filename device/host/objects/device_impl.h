// The Device of the host: makes streams and events, and closes.
#ifndef GRAPHTREE_DEVICE_HOST_OBJECTS_DEVICE_IMPL_H_
#define GRAPHTREE_DEVICE_HOST_OBJECTS_DEVICE_IMPL_H_

#include <memory>

#include "device/device.h"
#include "device/host/engine/core.h"
#include "device/host/host_options.h"
#include "device/host/objects/host_memory.h"

namespace graphtree::host {

class HostDevice : public Device {
 public:
  explicit HostDevice(const HostOptions& options);
  ~HostDevice() override;

  const DeviceInfo& info() const override { return info_; }
  const Capabilities& capabilities() const override { return capabilities_; }
  Memory& memory() override { return memory_; }
  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override;
  absl::StatusOr<std::unique_ptr<Stream>> AdoptStream(NativeStream native) override;
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(const EventOptions& options) override;
  absl::Status Load(const Kernel& kernel) override;
  int open_captures() const override;
  bool IsInsideWork() const override;
  absl::Status health() const override;
  absl::Status Close() override;

  const std::shared_ptr<Core>& core() const { return core_; }

 private:
  const std::shared_ptr<Core> core_;
  HostMemory memory_;
  DeviceInfo info_;
  Capabilities capabilities_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OBJECTS_DEVICE_IMPL_H_
