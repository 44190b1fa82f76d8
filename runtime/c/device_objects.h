// Devices, and what belongs to one, as objects of the C interface.
//
//   gt_device --> DeviceObject --+
//   gt_stream --> StreamObject --+--> OpenedDevice { kernels that it was given, Device }
//   gt_tree ...                --+
//
// All of them hold the opened device, so it is there for as long as anything that it made, whatever
// is released first. Releasing it fails, and changes nothing, while there is one of them.
#ifndef GRAPHTREE_RUNTIME_C_DEVICE_OBJECTS_H_
#define GRAPHTREE_RUNTIME_C_DEVICE_OBJECTS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "device/device.h"
#include "device/kernel.h"
#include "device/memory.h"
#include "device/stream.h"
#include "runtime/c/entry.h"
#include "runtime/c/held_values.h"
#include "runtime/c/objects.h"

namespace graphtree::c {

// A context of a caller's callback, which is told once when nothing calls it any more.
class CallerContext {
 public:
  CallerContext(void* context, void (*destroy)(void*)) : context_(context), destroy_(destroy) {}
  CallerContext(CallerContext&& other) noexcept
      : context_(other.context_), destroy_(std::exchange(other.destroy_, nullptr)) {}
  CallerContext(const CallerContext&) = delete;
  CallerContext& operator=(const CallerContext&) = delete;
  ~CallerContext() { EndNow(); }
  void* get() const { return context_; }
  // Nothing will call the callback: the caller is told now.
  void EndNow() {
    if (auto* const destroy = std::exchange(destroy_, nullptr)) destroy(context_);
  }

 private:
  void* const context_;
  void (*destroy_)(void*);
};
// Held from here on, so that `destroy` is called whatever becomes of the call. Null, the caller is
// told, and the entry has failed, if there is no memory for that.
std::shared_ptr<CallerContext> HoldContext(void* context, void (*destroy)(void*), Entry* entry);

class KernelObject : public Object {
 public:
  static constexpr Kind kKind = c::kKernel;
  explicit KernelObject(std::shared_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  // Whoever launches the kernel holds it for as long as the launch may run.
  const std::shared_ptr<Kernel>& kernel() const { return kernel_; }

 private:
  const std::shared_ptr<Kernel> kernel_;
};

class OpenedDevice : public std::enable_shared_from_this<OpenedDevice> {
 public:
  OpenedDevice() = default;
  // Before anything else is asked.
  void Put(std::unique_ptr<Device> device) { device_ = std::move(device); }
  Device& device() const { return *device_; }
  // Work on the device may run the kernel until the device is closed.
  void Hold(const std::shared_ptr<Kernel>& kernel, Entry* entry) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entry->Own([&] { kernels_.emplace(kernel->id(), kernel); });
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Kernel>> kernels_;  // guarded by mutex_
  std::unique_ptr<Device> device_;  // goes before the kernels
};

class DeviceObject : public Object {
 public:
  static constexpr Kind kKind = c::kDevice;
  explicit DeviceObject(std::shared_ptr<OpenedDevice> opened) : opened_(std::move(opened)) {}
  const std::shared_ptr<OpenedDevice>& opened() const { return opened_; }
  Device& device() const { return opened_->device(); }
  // Device::Close would close a device that still has things to do for those.
  absl::Status MayEnd() override {
    if (absl::Status unused = CheckUnused(); !unused.ok()) return unused;
    absl::Status closed = device().Close();
    const std::string held = closed.ok() ? "" : HeldOn(device());
    return held.empty() ? closed : Left(held);
  }

 private:
  // OK for a device that is lost, too: it does nothing for anybody any more.
  absl::Status CheckUnused() const {
    device().GiveBackLeftovers().IgnoreError();
    const long users = opened_.use_count() - 1;
    if (!device().health().ok()) return absl::OkStatus();
    if (users > 0) {
      return Left(absl::StrCat(
          users, " of its streams, events, memories, trees, runtimes and profiles"));
    }
    // Values of a GPU that is opened twice may be of the other one's trees.
    const std::string held = device().info().is_opened_anew ? HeldOn(device()) : "";
    return held.empty() ? absl::OkStatus() : Left(held);
  }
  absl::Status Left(absl::string_view what) const {
    return absl::FailedPreconditionError(absl::StrCat(
        "device '", device().info().name, "' has ", what, " left: release these first"));
  }

  const std::shared_ptr<OpenedDevice> opened_;
};

class StreamObject : public Object {
 public:
  static constexpr Kind kKind = c::kStream;
  StreamObject(std::shared_ptr<OpenedDevice> opened, std::unique_ptr<Stream> stream)
      : opened_(std::move(opened)), owned_(std::move(stream)), stream_(*owned_) {}
  // Somebody else's, who ends the handle before the stream.
  StreamObject(std::shared_ptr<OpenedDevice> opened, Stream& stream)
      : opened_(std::move(opened)), stream_(stream) {}
  OpenedDevice& opened() const { return *opened_; }
  Stream& stream() const { return stream_; }

 private:
  const std::shared_ptr<OpenedDevice> opened_;
  const std::unique_ptr<Stream> owned_;
  Stream& stream_;
};

class EventObject : public Object {
 public:
  static constexpr Kind kKind = c::kEvent;
  EventObject(std::shared_ptr<OpenedDevice> opened, std::shared_ptr<Event> event)
      : opened_(std::move(opened)), event_(std::move(event)) {}
  Event& event() const { return *event_; }

 private:
  const std::shared_ptr<OpenedDevice> opened_;
  const std::shared_ptr<Event> event_;
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_DEVICE_OBJECTS_H_
