// A native stream is a queue that its caller owns.
#include "device/host/native.h"

#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "device/host/objects/device_impl.h"
#include "device/host/objects/host_stream.h"
#include "device/host/work_watch.h"

namespace graphtree {
namespace host {
namespace {

class NativeQueue : public HostNativeStream {
 public:
  NativeQueue(std::shared_ptr<Core> core, StreamQueue* queue)
      : core_(std::move(core)), queue_(queue) {}
  ~NativeQueue() override {
    const Engine::Lock lock = core_->engine.Guard();
    core_->engine.GiveUp(*queue_);
  }

  NativeStream handle() const override { return queue_; }

  absl::Status Push(std::string name, std::function<void()> body) override {
    Engine& engine = core_->engine;
    Engine::Lock lock = engine.Guard();
    GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
    if (queue_->part.capture != nullptr) {
      GRAPHTREE_RETURN_IF_ERROR(engine.captures().MayAppend(queue_->part, name));
      Work work;
      work.SetFunction(OpKind::kKernel, std::move(name), std::move(body));
      engine.captures().Append(queue_->part, Op{}, std::move(work));
      return absl::OkStatus();
    }
    Unit* const unit = engine.NewUnit(UnitKind::kWork);
    unit->work.SetFunction(OpKind::kKernel, std::move(name), std::move(body));
    engine.Issue(lock, *queue_, unit);
    return absl::OkStatus();
  }

  absl::Status BeginCapture(CaptureMode mode) override {
    const Engine::Lock lock = core_->engine.Guard();
    GRAPHTREE_RETURN_IF_ERROR(core_->engine.MayCall());
    return core_->engine.captures().Begin(queue_->part, mode, std::this_thread::get_id(),
                                          /*ours=*/false);
  }

  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override {
    return EndCaptureOf(core_, *queue_);
  }

  absl::Status Synchronize() override {
    return SynchronizeQueue(core_->engine, *queue_);
  }

 private:
  const std::shared_ptr<Core> core_;
  StreamQueue* const queue_;
};

}  // namespace
}  // namespace host

namespace {

absl::StatusOr<host::HostDevice*> HostDeviceOf(Device& device, absl::string_view what) {
  auto* const ours = dynamic_cast<host::HostDevice*>(&device);
  if (ours != nullptr) return ours;
  return DeviceError(ErrorCode::kInvalidDevice, absl::StrCat(what, " on ", device.info().name));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostNativeStream>> NewHostNativeStream(Device& device) {
  GRAPHTREE_ASSIGN_OR_RETURN(host::HostDevice* const ours,
                             HostDeviceOf(device, "making a native host stream"));
  const host::Engine::Lock lock = ours->core()->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(ours->core()->Usable("making a native host stream"));
  return std::make_unique<host::NativeQueue>(
      ours->core(), ours->core()->engine.NewQueue("native stream", /*ours=*/false));
}

absl::StatusOr<uint32_t> HostStreamNumber(const Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(
      HostDeviceOf(stream.device(), "asking for the number of a host device's stream").status());
  return static_cast<const host::QueuedStream&>(stream).queue().slot;
}

absl::Status WatchHostWork(Device& device, HostWorkWatcher* watcher) {
  GRAPHTREE_ASSIGN_OR_RETURN(host::HostDevice* const ours,
                             HostDeviceOf(device, "watching the work of a host device"));
  const host::Engine::Lock lock = ours->core()->engine.Guard();
  host::Engine& engine = ours->core()->engine;
  if (watcher != nullptr && engine.watcher() != nullptr) {
    return DeviceError(ErrorCode::kNotPermitted,
                       "watching the work of a host device that somebody else watches");
  }
  engine.Watch(watcher);
  return absl::OkStatus();
}

absl::Status AllocateNatively(Device& device, uint64_t bytes) {
  const std::string what = absl::StrCat("allocating ", bytes, " bytes past the device");
  GRAPHTREE_ASSIGN_OR_RETURN(host::HostDevice* const ours, HostDeviceOf(device, what));
  const host::Engine::Lock lock = ours->core()->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(ours->core()->Usable(what));
  return ours->core()->engine.captures().MayCallUnsafely(std::this_thread::get_id(), what);
}

}  // namespace graphtree
