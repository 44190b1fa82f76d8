// Records events, and waits for them.
#include "allocator/order/courier.h"

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::Status Courier::StreamCaptures(const char* what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "a stream that uses the pool is capturing, so it cannot be ", what, ". End the capture."));
}

absl::Status Courier::MakeEvent() {
  if (event_ != nullptr) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(event_, device_.NewEvent({}));
  return absl::OkStatus();
}

absl::Status Courier::Await(StreamLife& other, Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(MakeEvent());
  return other.Await(*event_, stream);
}

absl::Status Courier::Carry(StreamLife& life) {
  if (stream_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_.NewStream());
  }
  return Await(life, *stream_);
}

// By an event: the stream's own thread may begin a capture at any time, and a wait for the stream
// would break that.
absl::Status Courier::AwaitOnHost(const KnownStream& known) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, known.life->Capture());
  const bool captures = info.state != CaptureState::kNone;
  if (captures && known.used_in == info.id) return StreamCaptures("waited for");
  GRAPHTREE_RETURN_IF_ERROR(MakeEvent());
  const absl::Status done = known.life->AwaitOnHost(*event_);
  return captures && !done.ok() ? StreamCaptures("waited for") : done;
}

// The graph's launches, not the capture's ops, wait for work from before the capture.
absl::Status Courier::OrderAfterOne(const KnownStream& other, Stream& stream, uint64_t capture) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo info, other.life->Capture());
  const bool has_ended = other.life->has_ended();
  const uint64_t ended_in = other.life->ended_in();
  if (has_ended && ended_in != capture && (ended_in == 0 || other.was_of_capture())) {
    return absl::OkStatus();
  }
  if (has_ended || info.id == capture) return Await(*other.life, stream);
  if (info.id == 0) return absl::OkStatus();
  if (capture != 0 && other.MayBeAwaitedBefore(info.id)) return absl::OkStatus();
  const bool is_of_its_graph = other.used_in == info.id;
  if (capture == 0 && !is_of_its_graph) return Await(*other.life, stream);
  return absl::FailedPreconditionError(
      "the bytes were used on a stream that an open capture has now, and a stream outside of it "
      "cannot come after that use. End the capture first, or let the stream join it.");
}

absl::Status Courier::OrderAfter(Stream& stream, uint64_t capture, const StreamSlot& slot) {
  if (slot.has_forgotten && capture == 0) {
    GRAPHTREE_RETURN_IF_ERROR(Await(*stream_->life(), stream));
  }
  for (const KnownStream& other : slot.streams) {
    if (other.life == stream.life()) continue;
    GRAPHTREE_RETURN_IF_ERROR(OrderAfterOne(other, stream, capture));
  }
  return absl::OkStatus();
}

bool Courier::TakesOver(const KnownStream& known) {
  if (!known.life->has_ended()) return false;
  if (known.was_of_capture()) return device_.open_captures() == 0;
  return Carry(*known.life).ok();
}

absl::Status Courier::Synchronize() {
  return stream_ == nullptr ? absl::OkStatus() : stream_->Synchronize();
}

}  // namespace graphtree
