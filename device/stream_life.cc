// Asks the stream, or the event that it left.
#include "device/stream_life.h"

#include <mutex>
#include <utility>

#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "device/stream.h"

namespace graphtree {

absl::StatusOr<CaptureInfo> AskCapture(Stream& stream) {
  CaptureInfo info;
  GRAPHTREE_RETURN_IF_ERROR(Insist([&]() -> absl::Status {
    GRAPHTREE_ASSIGN_OR_RETURN(info, stream.Capture());
    return absl::OkStatus();
  }));
  return info;
}

StreamLife::~StreamLife() = default;

void StreamLife::End(NewEvent new_event) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (stream_ == nullptr) return;
  unordered_ = KeepEvent(new_event);
  SetBefore({});
  stream_ = nullptr;
  has_ended_.store(true, std::memory_order_release);
}

void StreamLife::EndUntold() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (stream_ == nullptr) return;
  unordered_ = absl::FailedPreconditionError(
      "a stream was destroyed, and nothing tells when what was put on it is done");
  SetBefore({});
  stream_ = nullptr;
  has_ended_.store(true, std::memory_order_release);
}

// Where the stream cannot say whether it captures, an event may be the capture's. Then the host
// waits: a wait breaks such a capture, whose owner is told of that, and work that nobody awaited
// would be nobody's to see.
absl::Status StreamLife::KeepEvent(NewEvent new_event) {
  const auto wait = [this] { return Insist([this] { return stream_->Synchronize(); }); };
  const absl::StatusOr<CaptureInfo> capture = AskCapture(*stream_);
  if (!capture.ok()) {
    const absl::Status done = wait();
    if (ErrorCodeOf(done) == ErrorCode::kCaptureUnsupported) {
      ended_in_.store(kSomeCapture, std::memory_order_release);
    }
    return done;
  }
  ended_in_.store(capture->id, std::memory_order_release);
  absl::StatusOr<std::unique_ptr<Event>> event = new_event();
  absl::Status status = event.ok() ? stream_->Record(**event) : event.status();
  if (status.ok()) {
    last_ = *std::move(event);
    return status;
  }
  return ended_in() != 0 ? status : wait();
}

absl::Status StreamLife::WhyUnordered() const {
  return absl::FailedPreconditionError(
      "a stream was destroyed within a capture that another one had begun: what was put on it "
      "before cannot be waited for. End captures before their streams.");
}

// An event of a capture would stand for nothing that anybody could ever wait for.
absl::StatusOr<std::shared_ptr<StreamLife>> StreamLife::OfWorkSoFar(
    Stream& stream, std::unique_ptr<Event> event) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo capture, AskCapture(stream));
  if (capture.state != CaptureState::kNone) {
    return absl::FailedPreconditionError(
        "a stream captures now, so what is put on it is no work that could be waited for");
  }
  auto work = std::make_shared<StreamLife>(&stream);
  work->End([&event] { return std::move(event); });
  GRAPHTREE_RETURN_IF_ERROR(work->unordered_);
  return work;
}

// The stream's own thread may begin a capture at any time. So it is asked after the event was
// recorded: if it does not capture then, the event is of no capture that is open.
absl::Status StreamLife::RecordFor(Stream* behind, Event& event) {
  GRAPHTREE_RETURN_IF_ERROR(stream_->Record(event));
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo own, stream_->Capture());
  if (own.state == CaptureState::kNone) return absl::OkStatus();
  if (behind != nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo other, behind->Capture());
    if (own.id == other.id) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "a stream captures now, so what was put on it before cannot be waited for: whoever waited "
      "would become a part of that capture. End the capture first");
}

absl::Status StreamLife::Record(Event& event) {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  if (stream_ == nullptr) return absl::FailedPreconditionError("the stream was destroyed");
  return RecordFor(nullptr, event);
}

void StreamLife::SetBefore(BeforeCapture before) {
  const std::lock_guard<std::mutex> lock(before_mutex_);
  std::swap(before_, before);
}

std::shared_ptr<Event> StreamLife::BeforeThe(uint64_t capture) {
  const std::lock_guard<std::mutex> lock(before_mutex_);
  return before_.capture == capture ? before_.event : nullptr;
}

// The capture is what the caller asked for: without the event all goes on as if nobody held the
// life. A stream that captures already is refused by `begin`, and the event is forgotten.
absl::Status StreamLife::BeginCapture(NewEvent new_event,
                                      absl::FunctionRef<absl::Status()> begin) {
  std::shared_ptr<Event> before;
  absl::StatusOr<std::unique_ptr<Event>> event = new_event();
  if (event.ok() && stream_->Record(**event).ok()) before = *std::move(event);
  GRAPHTREE_RETURN_IF_ERROR(begin());
  if (before == nullptr) return absl::OkStatus();
  const absl::StatusOr<CaptureInfo> capture = AskCapture(*stream_);
  if (capture.ok()) SetBefore({capture->id, std::move(before)});
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Event>> StreamLife::MarkFor(Stream* behind, Event& event) {
  const absl::Status recorded = RecordFor(behind, event);
  if (recorded.ok()) return std::shared_ptr<Event>(std::shared_ptr<Event>(), &event);
  if (behind != nullptr && behind->IsCapturing()) return recorded;
  GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo own, stream_->Capture());
  std::shared_ptr<Event> before = own.id == 0 ? nullptr : BeforeThe(own.id);
  if (before == nullptr) return recorded;
  return before;
}

// A capture of the stream's own thread may have begun before the event was recorded, and ended
// before the stream was asked. The event is of that capture then, and is recorded once more.
absl::Status StreamLife::AwaitLiving(Event& event, Stream& behind) {
  return Insist([&]() -> absl::Status {
    GRAPHTREE_ASSIGN_OR_RETURN(const std::shared_ptr<Event> mark, MarkFor(&behind, event));
    return behind.Wait(*mark);
  });
}

// The stream need not be there while the host waits for the event.
absl::Status StreamLife::AwaitOnHost(Event& event) {
  return Insist([&]() -> absl::Status {
    std::shared_ptr<Event> mark;
    {
      const std::shared_lock<std::shared_mutex> lock(mutex_);
      if (stream_ != nullptr) {
        GRAPHTREE_ASSIGN_OR_RETURN(mark, MarkFor(nullptr, event));
      }
    }
    return mark != nullptr ? mark->Synchronize() : Synchronize();
  });
}

absl::Status StreamLife::Await(Event& event, Stream& behind) {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  if (stream_ != nullptr) return AwaitLiving(event, behind);
  GRAPHTREE_RETURN_IF_ERROR(unordered_);
  if (ended_in() != 0) {
    GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo capture, behind.Capture());
    if (capture.id != ended_in()) return WhyUnordered();
  }
  return last_ == nullptr ? absl::OkStatus() : behind.Wait(*last_);
}

absl::StatusOr<Event*> StreamLife::EventOfEnded() const {
  GRAPHTREE_RETURN_IF_ERROR(unordered_);
  if (ended_in() != 0) return WhyUnordered();
  return last_.get();
}

absl::Status StreamLife::Synchronize() {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  if (stream_ != nullptr) return stream_->Synchronize();
  GRAPHTREE_ASSIGN_OR_RETURN(Event * const last, EventOfEnded());
  return last == nullptr ? absl::OkStatus() : last->Synchronize();
}

absl::StatusOr<bool> StreamLife::IsDone() {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  if (stream_ != nullptr) return stream_->IsDone();
  GRAPHTREE_ASSIGN_OR_RETURN(Event * const last, EventOfEnded());
  if (last == nullptr) return true;
  return last->IsDone();
}

absl::StatusOr<CaptureInfo> StreamLife::Capture() {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  if (stream_ == nullptr) return CaptureInfo{};
  return stream_->Capture();
}

absl::Status StreamLife::Use(absl::FunctionRef<absl::Status(Stream&)> use) {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  if (stream_ == nullptr) return absl::FailedPreconditionError("the stream was destroyed");
  return use(*stream_);
}

}  // namespace graphtree
