// Asking the event, and setting it.
#include "graphs/graveyard.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "device/stream.h"

namespace graphtree {

// A stream that its owner is capturing must not be touched: the event would go into the capture.
bool Graveyard::Mark(Stream& last) {
  const absl::StatusOr<CaptureInfo> capture = last.Capture();
  if (!capture.ok() || capture->state != CaptureState::kNone) return false;
  if (event_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Event>> event = device_.NewEvent({});
    if (!event.ok()) return false;
    event_ = *std::move(event);
  }
  return last.Record(*event_).ok();
}

void Graveyard::Tidy(Stream* last) {
  if (empty() || device_.open_captures() > 0) return;
  if (last == nullptr) return DestroyAll();
  if (!marked_.empty()) {
    const absl::StatusOr<bool> done = event_->IsDone();
    if (!done.ok() || !*done) return;
    marked_ = Plot();
  }
  if (waiting_.empty() || !Mark(*last)) return;
  marked_ = std::exchange(waiting_, Plot());
}

void Graveyard::DestroyAll() {
  marked_ = Plot();
  waiting_ = Plot();
}

}  // namespace graphtree
