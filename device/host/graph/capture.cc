// The rules of capturing, one function for each kind of call.
#include "device/host/graph/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/known_enum.h"
#include "device/error.h"

namespace graphtree::host {
namespace {

uint64_t NextCaptureId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

bool Contains(const std::vector<OpId>& ops, OpId op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// The first op that nothing in the capture waits for but that is not in `frontier`.
const Op* FirstUnjoined(const Capture& capture, const std::vector<OpId>& frontier) {
  for (const Op& op : capture.ops) {
    if (!capture.followed[op.id] && !Contains(frontier, op.id)) return &op;
  }
  return nullptr;
}

absl::Status EndedMark(absl::string_view what) {
  return DeviceError(ErrorCode::kInvalidValue,
                     absl::StrCat(what, " an event that a capture recorded which is over or was "
                                        "invalidated: record it again first"));
}

}  // namespace

void Captures::Spoil(Capture& capture, absl::string_view by) {
  if (capture.spoiled_by.empty()) capture.spoiled_by = std::string(by);
}

void Captures::Detach(Capture& capture) {
  for (CapturePart* part : capture.parts) {
    part->frontier.clear();
    if (part != capture.origin) part->capture.reset();
  }
  capture.ended = true;
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const auto& open) { return open.get() == &capture; });
  GRAPHTREE_CHECK(found != open_.end());
  const std::shared_ptr<Capture> kept = std::move(*found);
  open_.erase(found);
  if (kept->ours) ours_.fetch_sub(1, std::memory_order_release);
  capture.origin->capture.reset();
  capture.parts.clear();
}

absl::Status Captures::Begin(CapturePart& part, CaptureMode mode, std::thread::id thread,
                             bool ours) {
  if (part.legacy) {
    return DeviceError(ErrorCode::kCaptureUnsupported, "beginning a capture on the legacy stream");
  }
  if (!IsKnown(mode, CaptureMode::kRelaxed)) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("beginning a capture on ", part.stream_name, " in ",
                                    NotKnown("mode", mode)));
  }
  if (part.capture != nullptr) {
    return DeviceError(ErrorCode::kIllegalState,
                       absl::StrCat("beginning a capture on ", part.stream_name,
                                    ", which takes part in one already"));
  }
  auto capture = std::make_shared<Capture>();
  capture->id = NextCaptureId();
  capture->mode = mode;
  capture->thread = thread;
  capture->ours = ours;
  capture->origin = &part;
  capture->parts = {&part};
  open_.push_back(capture);
  if (ours) ours_.fetch_add(1, std::memory_order_release);
  part.capture = std::move(capture);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Capture>> Captures::End(CapturePart& part, std::thread::id thread) {
  const std::shared_ptr<Capture> capture = part.capture;
  const std::string what = absl::StrCat("ending the capture of ", part.stream_name);
  if (capture == nullptr) {
    return DeviceError(ErrorCode::kIllegalState,
                       absl::StrCat(what, ": none is open, it was ended before or never begun"));
  }
  if (capture->origin != &part) {
    Spoil(*capture, absl::StrCat("an attempt to end it on ", part.stream_name));
    return DeviceError(ErrorCode::kCaptureUnmatched,
                       absl::StrCat(what, ": it was begun on ", capture->origin->stream_name));
  }
  const std::vector<OpId> frontier = part.frontier;
  Detach(*capture);
  if (!capture->spoiled_by.empty()) {
    return DeviceError(ErrorCode::kCaptureInvalidated,
                       absl::StrCat(what, ": it was invalidated by ", capture->spoiled_by));
  }
  if (capture->mode != CaptureMode::kRelaxed && capture->thread != thread) {
    return DeviceError(ErrorCode::kCaptureWrongThread,
                       absl::StrCat(what, " on another thread than the one that began it"));
  }
  if (const Op* op = FirstUnjoined(*capture, frontier)) {
    return DeviceError(ErrorCode::kCaptureUnjoined,
                       absl::StrCat(what, ": nothing waits for op ", op->id, " (", op->name,
                                    "), which another stream captured: record an event behind it "
                                    "and wait for it on ", part.stream_name));
  }
  return capture;
}

void Captures::Leave(CapturePart& part) {
  const std::shared_ptr<Capture> capture = part.capture;
  if (capture == nullptr) return;
  if (capture->origin == &part) {
    Detach(*capture);
    return;
  }
  capture->parts.erase(std::find(capture->parts.begin(), capture->parts.end(), &part));
  part.capture.reset();
  part.frontier.clear();
}

absl::Status Captures::MayAppend(const CapturePart& part, absl::string_view what) const {
  if (part.capture->spoiled_by.empty()) return absl::OkStatus();
  return DeviceError(ErrorCode::kCaptureInvalidated,
                     absl::StrCat(what, " on ", part.stream_name,
                                  ", whose capture was invalidated by ",
                                  part.capture->spoiled_by));
}

OpId Captures::Append(CapturePart& part, Op op, Work work) {
  Capture& capture = *part.capture;
  op.id = static_cast<OpId>(capture.ops.size());
  work.Describe(op);
  for (OpId from : part.frontier) {
    const bool programmatic = op.shape.programmatic && op.kind == OpKind::kKernel &&
                              capture.ops[from].kind == OpKind::kKernel;
    // Port 1 of a kernel is "its blocks have called or passed the trigger".
    op.dependencies.push_back(programmatic ? Edge{from, EdgeKind::kProgrammatic, 1, 0}
                                           : Edge{from, EdgeKind::kFull, 0, 0});
    capture.followed[from] = true;
  }
  part.frontier = {op.id};
  capture.followed.push_back(false);
  capture.ops.push_back(std::move(op));
  capture.works.push_back(std::move(work));
  return part.frontier.front();
}

CaptureMark Captures::Record(const CapturePart& part) const {
  return {true, part.capture, part.frontier};
}

absl::Status Captures::Wait(CapturePart& part, const CaptureMark& mark) {
  const std::string what = absl::StrCat(part.stream_name, " waits for an event");
  if (!mark.captured) {
    Spoil(*part.capture, absl::StrCat("a wait for an event that was recorded outside of it"));
    return DeviceError(ErrorCode::kCaptureIsolation,
                       absl::StrCat(what, " that was recorded outside of its capture"));
  }
  const std::shared_ptr<Capture> other = mark.capture.lock();
  if (other == nullptr || other->ended || !other->spoiled_by.empty()) {
    if (part.capture != nullptr) Spoil(*part.capture, "a wait for an event of another capture");
    return EndedMark(absl::StrCat(part.stream_name, " waits for"));
  }
  if (part.legacy) {
    Spoil(*other, "the legacy stream, which waited for an event of it");
    return DeviceError(ErrorCode::kCaptureImplicit,
                       "the legacy stream waits for an event that a capture recorded");
  }
  if (part.capture == nullptr) {
    part.capture = other;
    part.frontier = mark.frontier;
    other->parts.push_back(&part);
    return absl::OkStatus();
  }
  if (part.capture != other) {
    Spoil(*part.capture, "a wait for an event of another capture");
    Spoil(*other, "a stream of another capture, which waited for an event of it");
    return DeviceError(ErrorCode::kCaptureMerge,
                       absl::StrCat(what, " that another capture recorded"));
  }
  for (OpId op : mark.frontier) {
    if (!Contains(part.frontier, op)) part.frontier.push_back(op);
  }
  return absl::OkStatus();
}

absl::Status Captures::MayWaitFor(CapturePart& part, absl::string_view what) {
  if (part.capture == nullptr) return absl::OkStatus();
  Spoil(*part.capture, absl::StrCat(what, " ", part.stream_name));
  return DeviceError(ErrorCode::kCaptureUnsupported,
                     absl::StrCat(what, " ", part.stream_name, ", which is capturing"));
}

absl::Status Captures::MayWaitFor(const CaptureMark& mark, absl::string_view what) {
  if (!mark.captured) return absl::OkStatus();
  const std::shared_ptr<Capture> capture = mark.capture.lock();
  if (capture == nullptr || capture->ended) return EndedMark(what);
  Spoil(*capture, absl::StrCat(what, " an event that it recorded"));
  return DeviceError(ErrorCode::kCapturedEvent,
                     absl::StrCat(what, " an event that a capture recorded"));
}

absl::Status Captures::MayTime(const CaptureMark& mark) const {
  if (!mark.captured) return absl::OkStatus();
  const std::shared_ptr<Capture> capture = mark.capture.lock();
  if (capture == nullptr || capture->ended) return EndedMark("timing");
  return DeviceError(ErrorCode::kCapturedEvent, "timing an event that a capture recorded");
}

absl::Status Captures::MayCallUnsafely(std::thread::id thread, absl::string_view what) {
  absl::Status status;
  for (const std::shared_ptr<Capture>& capture : open_) {
    const bool forbids = capture->mode == CaptureMode::kGlobal ||
                         (capture->mode == CaptureMode::kThreadLocal && capture->thread == thread);
    if (!forbids) continue;
    Spoil(*capture, what);
    status = DeviceError(ErrorCode::kCaptureUnsupported,
                         absl::StrCat(what, " while a capture is open that forbids it"));
  }
  return status;
}

}  // namespace graphtree::host
