// Orders streams by an event, and where that fails by waiting.
#include "graphs/memory/stream_order.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/device.h"

namespace graphtree {
namespace {

// What is on a stream that captures runs where the graph is launched, and is no read of this step.
bool IsInCapture(StreamLife& life) {
  if (life.has_ended()) return life.ended_in() != 0;
  const absl::StatusOr<CaptureInfo> capture = life.Capture();
  return capture.ok() && capture->state != CaptureState::kNone;
}

// For a stream that cannot say whether it captures. The device knows which captures are open, but
// for those that were begun on a native stream: a wait breaks such a one, and its owner is told.
absl::Status AwaitUnasked(StreamLife& life, Event& event) {
  GRAPHTREE_RETURN_IF_ERROR(life.Use([&event](Stream& stream) -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(stream.Record(event));
    if (stream.device().open_captures() == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "a stream cannot say whether it captures, and a capture is open");
  }));
  return event.Synchronize();
}

absl::Status AwaitOnHost(StreamLife& life, Event& event) {
  absl::Status done = life.AwaitOnHost(event);
  if (done.ok() || life.has_ended() || life.Capture().ok()) return done;
  return Insist([&] { return AwaitUnasked(life, event); }).ok() ? absl::OkStatus() : done;
}

}  // namespace

absl::Status StreamOrder::AwaitLast() {
  return last_ == nullptr ? absl::OkStatus() : AwaitOnHost(*last_, *event_);
}

absl::Status StreamOrder::WaitFor(StreamLife& other, Stream& stream) {
  if (&other == stream.life().get()) return absl::OkStatus();
  const absl::Status ordered = other.Await(*event_, stream);
  if (ordered.ok() || AwaitOnHost(other, *event_).ok()) return absl::OkStatus();
  // Nobody else has the tree's own stream, and it never captures: it may be waited for itself.
  const bool is_own = &other == own_ && Insist([&other] { return other.Synchronize(); }).ok();
  return is_own ? absl::OkStatus() : ordered;
}

absl::Status StreamOrder::ContinueAfter(Stream& worked, Stream& stream) {
  if (last_ != worked.life()) {
    if (absl::Status status = WaitFor(*worked.life(), stream); !status.ok()) return status;
  }
  return ContinueOn(stream);
}

absl::Status StreamOrder::Settle(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(WaitForReaders(stream));
  if (last_ != stream.life()) GRAPHTREE_RETURN_IF_ERROR(Switch(stream));
  is_first_ = false;
  return absl::OkStatus();
}

absl::Status StreamOrder::Switch(Stream& stream) {
  const std::shared_ptr<StreamLife> before = last_;
  if (before != nullptr) GRAPHTREE_RETURN_IF_ERROR(WaitFor(*before, stream));
  last_ = stream.life();
  readers_.erase(std::remove(readers_.begin(), readers_.end(), last_), readers_.end());
  const bool may_be_read = before != nullptr && before.get() != own_ && !is_first_;
  if (may_be_read && !before->has_ended() && !absl::c_linear_search(readers_, before)) {
    readers_.push_back(before);
  }
  if (tell_) tell_(stream);
  return absl::OkStatus();
}

absl::Status StreamOrder::WaitForReaders(Stream& stream) {
  for (size_t i = 0; i < readers_.size();) {
    const std::shared_ptr<StreamLife> reader = readers_[i];
    const bool reads_no_more = reader->has_ended() || is_first_;
    const absl::Status ordered = WaitFor(*reader, stream);
    if (!ordered.ok() && !IsInCapture(*reader)) return ordered;
    if (reads_no_more) {
      readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree
