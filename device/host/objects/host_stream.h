// A Stream of a host device: issues work into its queue, or into the capture that it takes part in.
#ifndef GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_STREAM_H_
#define GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_STREAM_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/host/engine/core.h"
#include "device/host/objects/host_event.h"
#include "device/host/objects/queued_stream.h"
#include "device/stream.h"

namespace graphtree::host {

class HostStream : public QueuedStream {
 public:
  // Takes over one ownership of the queue. With the engine locked.
  HostStream(std::shared_ptr<Core> core, StreamQueue* queue, bool adopted);
  ~HostStream() override;

  Device& device() const override { return *core_->device; }
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
  // An error if the event is another device's.
  absl::StatusOr<HostEvent*> OursOf(Event& event, absl::string_view doing) const;
  // The device works, and so does a capture if there is one.
  absl::Status MayIssue(absl::string_view what) const;
  absl::Status MayListCapture(absl::string_view what) const;
  bool capturing() const { return queue_->part.capture != nullptr; }
  // `set` fills in a Work, for the queue or for the capture.
  template <typename Set>
  absl::Status IssueWork(Engine::Lock& lock, const Set& set);

  const std::shared_ptr<Core> core_;
  const std::string entry_;  // in the core's list of streams
};

absl::Status SynchronizeQueue(Engine& engine, StreamQueue& queue);

// Ends the capture of a queue. Takes the engine's lock.
absl::StatusOr<std::unique_ptr<Graph>> EndCaptureOf(const std::shared_ptr<Core>& core,
                                                    StreamQueue& queue);

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_OBJECTS_HOST_STREAM_H_
