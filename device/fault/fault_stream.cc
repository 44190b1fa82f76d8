// Each call asks the plan, then the wrapped stream or event.
#include "device/fault/fault_stream.h"

#include "device/base/status_macros.h"
#include "device/fault/fault_graph.h"

namespace graphtree {

Event& FaultEvent::Unwrap(Event& event) {
  auto* ours = dynamic_cast<FaultEvent*>(&event);
  return ours != nullptr ? *ours->wrapped_ : event;
}

absl::StatusOr<bool> FaultEvent::IsDone() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Event.IsDone"));
  return wrapped_->IsDone();
}

absl::Status FaultEvent::Synchronize() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Event.Synchronize"));
  return wrapped_->Synchronize();
}

absl::StatusOr<double> FaultEvent::NanosecondsSince(Event& start) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Event.NanosecondsSince"));
  return wrapped_->NanosecondsSince(Unwrap(start));
}

Stream& FaultStream::Unwrap(Stream& stream) {
  auto* ours = dynamic_cast<FaultStream*>(&stream);
  return ours != nullptr ? *ours->wrapped_ : stream;
}

absl::Status FaultStream::Launch(const Kernel& kernel, const LaunchShape& shape,
                                 Arguments arguments) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.Launch"));
  return wrapped_->Launch(kernel, shape, arguments);
}

absl::Status FaultStream::Copy(Address target, Address source, uint64_t bytes) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.Copy"));
  return wrapped_->Copy(target, source, bytes);
}

absl::Status FaultStream::Fill(Address target, uint32_t value, uint32_t width, uint64_t count) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.Fill"));
  return wrapped_->Fill(target, value, width, count);
}

absl::Status FaultStream::CallHost(std::function<void()> function) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.CallHost"));
  return wrapped_->CallHost(std::move(function));
}

absl::Status FaultStream::Record(Event& event) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.Record"));
  return wrapped_->Record(FaultEvent::Unwrap(event));
}

absl::Status FaultStream::RecordExternal(Event& event) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.RecordExternal"));
  return wrapped_->RecordExternal(FaultEvent::Unwrap(event));
}

absl::Status FaultStream::Wait(Event& event) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.Wait"));
  return wrapped_->Wait(FaultEvent::Unwrap(event));
}

absl::StatusOr<bool> FaultStream::IsDone() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.IsDone"));
  return wrapped_->IsDone();
}

absl::Status FaultStream::Synchronize() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.Synchronize"));
  return wrapped_->Synchronize();
}

absl::Status FaultStream::BeginCapture(CaptureMode mode) {
  return BeginBehindEvent([this] { return device_->NewEvent({}); }, [this, mode]() -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.BeginCapture"));
    return wrapped_->BeginCapture(mode);
  });
}

absl::StatusOr<CaptureInfo> FaultStream::Capture() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.Capture"));
  return wrapped_->Capture();
}

absl::StatusOr<std::unique_ptr<Graph>> FaultStream::EndCapture() {
  const absl::Status fault = plan_->Enter("Stream.EndCapture");
  absl::StatusOr<std::unique_ptr<Graph>> graph = wrapped_->EndCapture();
  GRAPHTREE_RETURN_IF_ERROR(fault);
  if (!graph.ok()) return graph;
  return std::make_unique<FaultGraph>(device_, plan_, *std::move(graph));
}

absl::StatusOr<std::vector<OpToken>> FaultStream::CaptureFrontier() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.CaptureFrontier"));
  return wrapped_->CaptureFrontier();
}

absl::StatusOr<std::vector<Op>> FaultStream::CapturedOps() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.CapturedOps"));
  return wrapped_->CapturedOps();
}

absl::StatusOr<size_t> FaultStream::CapturedOpCount() {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Stream.CapturedOpCount"));
  return wrapped_->CapturedOpCount();
}

}  // namespace graphtree
