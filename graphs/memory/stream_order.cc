// Orders streams by an event, and where that fails by waiting.
#include "graphs/memory/stream_order.h"

namespace graphtree {

absl::Status StreamOrder::AwaitLast() {
  return last_ == nullptr ? absl::OkStatus() : last_->AwaitOnHost(*event_);
}

absl::Status StreamOrder::WaitFor(StreamLife& other, Stream& stream) {
  if (&other == stream.life().get()) return absl::OkStatus();
  const absl::Status ordered = other.Await(*event_, stream);
  return ordered.ok() || other.AwaitOnHost(*event_).ok() ? absl::OkStatus() : ordered;
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
