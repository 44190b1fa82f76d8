// Records the event on the last stream, asks it, and destroys what it has passed.
#include "graphs/budget/graveyard.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "device/stream.h"

namespace graphtree {

std::unique_ptr<Executable> Graveyard::Plot::TakeExecutable(size_t ops) {
  const auto last = std::find_if(
      executables.rbegin(), executables.rend(),
      [ops](const std::unique_ptr<Executable>& one) { return one->op_count() == ops; });
  if (last == executables.rend()) return nullptr;
  std::unique_ptr<Executable> taken = std::move(*last);
  executables.erase(std::next(last).base());
  return taken;
}

std::unique_ptr<Executable> Graveyard::TakeExecutable(size_t ops) {
  std::unique_ptr<Executable> taken = waiting_.TakeExecutable(ops);
  return taken != nullptr ? std::move(taken) : marked_.TakeExecutable(ops);
}

// A stream that its owner is capturing must not be touched: the event would go into the capture.
bool Graveyard::Mark(StreamLife& last) {
  const absl::StatusOr<CaptureInfo> capture = last.Capture();
  if (!capture.ok() || capture->state != CaptureState::kNone) return false;
  if (event_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Event>> event = device_.NewEvent({});
    if (!event.ok()) return false;
    event_ = *std::move(event);
  }
  return last.Record(*event_).ok();
}

void Graveyard::Tidy(StreamLife* last) {
  if (empty() || device_.open_captures() > 0) return;
  if (last == nullptr) return DestroyAll();
  if (!marked_.empty()) {
    const absl::StatusOr<bool> done = event_->IsDone();
    if (!done.ok() || !*done) return;
    Destroy(&marked_);
  }
  if (waiting_.empty()) return;
  if (last->has_ended()) {
    // The stream left an event of its own after the tree's last work.
    const absl::StatusOr<bool> done = last->IsDone();
    if (done.ok() && *done) Destroy(&waiting_);
    return;
  }
  if (!Mark(*last)) return;
  marked_ = std::exchange(waiting_, Plot());
}

void Graveyard::Destroy(Plot* plot) {
  std::move(plot->bodies.begin(), plot->bodies.end(), std::back_inserter(done_));
  *plot = Plot();
}

void Graveyard::DestroyAll() {
  Destroy(&marked_);
  Destroy(&waiting_);
}

}  // namespace graphtree
