// The streams and events of a fault device, whose calls ask the FaultPlan first (fault_device.h).
#ifndef GRAPHTREE_DEVICE_FAULT_FAULT_STREAM_H_
#define GRAPHTREE_DEVICE_FAULT_FAULT_STREAM_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/fault/fault_plan.h"
#include "device/stream.h"

namespace graphtree {

class FaultEvent : public Event {
 public:
  FaultEvent(FaultPlan* plan, std::unique_ptr<Event> wrapped)
      : plan_(plan), wrapped_(std::move(wrapped)) {}

  // The wrapped event where `event` is one of ours, else `event` itself.
  static Event& Unwrap(Event& event);

  absl::StatusOr<bool> IsDone() override;
  absl::Status Synchronize() override;
  absl::StatusOr<double> NanosecondsSince(Event& start) override;

 private:
  FaultPlan* const plan_;
  const std::unique_ptr<Event> wrapped_;
};

class FaultStream : public Stream {
 public:
  FaultStream(Device* device, FaultPlan* plan, std::unique_ptr<Stream> wrapped)
      : device_(device), plan_(plan), wrapped_(std::move(wrapped)) {}

  ~FaultStream() override {
    EndLife([this] { return device_->NewEvent({}); });
  }

  // The wrapped stream where `stream` is one of ours, else `stream` itself.
  static Stream& Unwrap(Stream& stream);

  Device& device() const override { return *device_; }
  absl::Status Launch(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) override;
  absl::Status Copy(Address target, Address source, uint64_t bytes) override;
  absl::Status Fill(Address target, uint32_t value, uint32_t width, uint64_t count) override;
  absl::Status CallHost(std::function<void()> function) override;
  absl::Status Record(Event& event) override;
  absl::Status RecordExternal(Event& event) override;
  absl::Status Wait(Event& event) override;
  absl::StatusOr<bool> IsDone() override;
  absl::Status Synchronize() override;
  absl::Status BeginCapture(CaptureMode mode) override;
  absl::StatusOr<CaptureInfo> Capture() override;
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override;
  absl::StatusOr<std::vector<OpToken>> CaptureFrontier() override;
  absl::StatusOr<std::vector<Op>> CapturedOps() override;
  absl::StatusOr<size_t> CapturedOpCount() override;

 private:
  Device* const device_;
  FaultPlan* const plan_;
  const std::unique_ptr<Stream> wrapped_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_FAULT_FAULT_STREAM_H_
