// Orders streams by an event, and where that fails by waiting.
#include "graphs/memory/stream_order.h"

#include "device/base/insist.h"

namespace graphtree {
namespace {

// Waits for the stream, unless it is being captured: that would break the capture.
bool IsAwaited(StreamLife& stream) {
  const absl::StatusOr<CaptureInfo> capture = stream.Capture();
  if (capture.ok() && capture->state != CaptureState::kNone) return false;
  return Insist([&] { return stream.Synchronize(); }).ok();
}

}  // namespace

void StreamOrder::AwaitLast() {
  if (last_ != nullptr) IsAwaited(*last_);
}

absl::Status StreamOrder::WaitFor(StreamLife& other, Stream& stream) {
  if (&other == stream.life().get()) return absl::OkStatus();
  const absl::Status ordered = other.Await(*event_, stream);
  return ordered.ok() || IsAwaited(other) ? absl::OkStatus() : ordered;
}

absl::Status StreamOrder::ContinueAfter(Stream& worked, Stream& stream) {
  if (last_ != worked.life()) {
    if (absl::Status status = WaitFor(*worked.life(), stream); !status.ok()) return status;
  }
  return ContinueOn(stream);
}

absl::Status StreamOrder::Switch(Stream& stream) {
  if (last_ != nullptr) {
    if (absl::Status status = WaitFor(*last_, stream); !status.ok()) return status;
  }
  last_ = stream.life();
  return absl::OkStatus();
}

}  // namespace graphtree
