// Each call: is it allowed, is the stream capturing, and then into the queue or into the capture.
#include "device/host/objects/host_stream.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/address_map.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/error.h"
#include "device/host/checks/fault_guard.h"
#include "device/host/objects/host_event.h"
#include "device/host/objects/host_graph.h"
#include "device/host/ops/launch_limits.h"

namespace graphtree::host {
namespace {

absl::Status AwaitQueue(Engine::Lock& lock, Engine& engine, StreamQueue& queue) {
  const Ticket ticket = queue.last();
  const VectorClock clock = queue.knowledge.back().clock;
  engine.WaitFor(lock, ticket);
  engine.HostKnows(ticket, clock);
  return engine.MayCall();
}

// One byte of each page is read: a copy from host memory is made at once, outside the guard that
// an op runs in.
Fault FirstUnreadable(AddressRange range) {
  return RunGuarded([range] {
    constexpr uint64_t kPage = 4096;
    const auto* bytes = PointerTo<const volatile char>(range.base);
    for (uint64_t at = 0; at < range.bytes; at += kPage) (void)bytes[at];
    (void)bytes[range.bytes - 1];
  });
}

}  // namespace

HostStream::HostStream(std::shared_ptr<Core> core, StreamQueue* queue, bool adopted)
    : QueuedStream(queue),
      core_(std::move(core)),
      entry_(adopted ? absl::StrCat("adopted ", queue->name()) : queue->name()) {
  core_->streams.insert(entry_);
}

HostStream::~HostStream() {
  std::shared_ptr<host::Capture> kept;
  {
    // A capture that it has begun ends with it, and what was queued before can be awaited then.
    const Engine::Lock lock = core_->engine.Guard();
    kept = queue_->part.capture;
    const bool begun_here = kept != nullptr && kept->origin == &queue_->part;
    if (begun_here && queue_->owners == 1) core_->engine.captures().Leave(queue_->part);
  }
  EndLife([this] { return device().NewEvent({}); });
  const Engine::Lock lock = core_->engine.Guard();
  core_->streams.erase(core_->streams.find(entry_));
  core_->engine.GiveUp(*queue_);
}

absl::Status HostStream::MayIssue(absl::string_view what) const {
  if (!core_->engine.MayCall().ok()) return core_->engine.MayCall();
  if (!capturing()) return absl::OkStatus();
  return core_->engine.captures().MayAppend(queue_->part, what);
}

template <typename Set>
absl::Status HostStream::IssueWork(Engine::Lock& lock, const Set& set) {
  Engine& engine = core_->engine;
  if (capturing()) {
    Work work;
    set(work);
    GRAPHTREE_RETURN_IF_ERROR(engine.checks().Issue(work));
    engine.captures().Append(queue_->part, Op{}, std::move(work));
    return absl::OkStatus();
  }
  Unit* const unit = engine.NewUnit(UnitKind::kWork);
  set(unit->work);
  absl::Status status = engine.checks().Issue(unit->work);
  if (!status.ok()) {
    engine.DropUnit(unit);
    engine.Lose(status);
    return status;
  }
  engine.Issue(lock, *queue_, unit);
  return absl::OkStatus();
}

absl::Status HostStream::Launch(const Kernel& kernel, const LaunchShape& shape,
                                Arguments arguments) {
  GRAPHTREE_RETURN_IF_ERROR(CheckLaunch(kernel, shape, arguments));
  Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayIssue(kernel.name()));
  return IssueWork(lock, [&](Work& work) { work.SetKernel(kernel, shape, arguments); });
}

// As on CUDA, memory that is not page-locked is done with when the call returns: bytes to be read
// are taken along, and bytes to be written are waited for.
absl::Status HostStream::Copy(Address target, Address source, uint64_t bytes) {
  Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayIssue("a copy"));
  if (bytes == 0) return absl::OkStatus();
  const bool source_locked = core_->books.IsPageLocked({source, bytes});
  const bool target_locked = core_->books.IsPageLocked({target, bytes});
  if (capturing() && !(source_locked && target_locked)) {
    return DeviceError(ErrorCode::kCaptureUnsupported,
                       absl::StrCat("capturing a copy of ",
                                    ToString({source_locked ? target : source, bytes}),
                                    ", host memory that is not page-locked: a replay would use it "
                                    "long after; take it from Memory::AllocateHost"));
  }
  const CopyParams copy = {target, source, bytes};
  if (!source_locked && target_locked) {
    const Fault fault = FirstUnreadable({source, bytes});
    if (fault.happened) {
      core_->engine.Lose(DeviceError(
          ErrorCode::kIllegalAddress,
          absl::StrCat("copy on ", queue_->name(), " reads ", ToString({source, bytes}),
                       ": it touched ", PlaceOf(fault))));
      return core_->engine.MayCall();
    }
    return IssueWork(lock, [&](Work& work) { work.SetFrozenCopy(copy); });
  }
  GRAPHTREE_RETURN_IF_ERROR(IssueWork(lock, [&](Work& work) { work.SetCopy(copy); }));
  return target_locked ? absl::OkStatus() : AwaitQueue(lock, core_->engine, *queue_);
}

absl::Status HostStream::Fill(Address target, uint32_t value, uint32_t width, uint64_t count) {
  const FillParams fill = {target, value, width, count};
  GRAPHTREE_RETURN_IF_ERROR(CheckFill(fill));
  Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayIssue("a fill"));
  if (count == 0) return absl::OkStatus();
  return IssueWork(lock, [&](Work& work) { work.SetFill(fill); });
}

absl::Status HostStream::CallHost(std::function<void()> function) {
  if (!function) return DeviceError(ErrorCode::kInvalidValue, "a host call without a function");
  Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayIssue("a host call"));
  return IssueWork(lock, [&](Work& work) {
    work.SetFunction(OpKind::kHost, OpKindName(OpKind::kHost), std::move(function));
  });
}

absl::StatusOr<HostEvent*> HostStream::OursOf(Event& event, absl::string_view doing) const {
  auto* const ours = dynamic_cast<HostEvent*>(&event);
  if (ours != nullptr && ours->core() == core_.get()) return ours;
  return DeviceError(ErrorCode::kInvalidHandle,
                     absl::StrCat(doing, " an event of another device"));
}

absl::Status HostStream::Record(Event& event) {
  GRAPHTREE_ASSIGN_OR_RETURN(HostEvent * ours, OursOf(event, "recording"));
  Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayIssue("recording an event"));
  if (capturing()) {
    ours->state()->recorded = true;
    ours->state()->mark = core_->engine.captures().Record(queue_->part);
  } else {
    core_->engine.Record(lock, *queue_, ours->state());
  }
  return absl::OkStatus();
}

absl::Status HostStream::RecordExternal(Event& event) {
  GRAPHTREE_ASSIGN_OR_RETURN(HostEvent * ours, OursOf(event, "recording"));
  Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayIssue("recording an event"));
  if (!capturing()) {
    core_->engine.Record(lock, *queue_, ours->state());
    return absl::OkStatus();
  }
  Work work;
  work.SetEventRecord(ours->state());
  core_->engine.captures().Append(queue_->part, Op{}, std::move(work));
  return absl::OkStatus();
}

absl::Status HostStream::Wait(Event& event) {
  GRAPHTREE_ASSIGN_OR_RETURN(HostEvent * ours, OursOf(event, "waiting for"));
  Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayIssue("waiting for an event"));
  const EventState& state = *ours->state();
  if (!state.recorded) return absl::OkStatus();
  if (capturing() || state.mark.captured) {
    return core_->engine.captures().Wait(queue_->part, state.mark);
  }
  core_->engine.IssueWait(lock, *queue_, state.ticket, state.clock);
  return absl::OkStatus();
}

absl::StatusOr<bool> HostStream::IsDone() {
  Engine& engine = core_->engine;
  Engine::Lock lock = engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
  GRAPHTREE_RETURN_IF_ERROR(engine.captures().MayWaitFor(queue_->part, "querying"));
  const Ticket ticket = queue_->last();
  const VectorClock clock = queue_->knowledge.back().clock;
  const bool done = engine.Poll(lock, ticket);
  if (done) engine.HostKnows(ticket, clock);
  GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
  return done;
}

absl::Status SynchronizeQueue(Engine& engine, StreamQueue& queue) {
  Engine::Lock lock = engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
  GRAPHTREE_RETURN_IF_ERROR(engine.captures().MayWaitFor(queue.part, "synchronising"));
  return AwaitQueue(lock, engine, queue);
}

absl::Status HostStream::Synchronize() { return SynchronizeQueue(core_->engine, *queue_); }

absl::Status HostStream::BeginCapture(CaptureMode mode) {
  const auto begin = [this, mode]() -> absl::Status {
    const Engine::Lock lock = core_->engine.Guard();
    GRAPHTREE_RETURN_IF_ERROR(core_->Usable("beginning a capture"));
    return core_->engine.captures().Begin(queue_->part, mode, std::this_thread::get_id(),
                                          /*ours=*/true);
  };
  return BeginBehindEvent([this] { return device().NewEvent({}); }, begin);
}

absl::StatusOr<CaptureInfo> HostStream::Capture() {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->engine.MayCall());
  if (!capturing()) return CaptureInfo{};
  const host::Capture& capture = *queue_->part.capture;
  return CaptureInfo{
      capture.spoiled_by.empty() ? CaptureState::kActive : CaptureState::kInvalidated, capture.id,
      capture.ours};
}

absl::StatusOr<std::unique_ptr<Graph>> EndCaptureOf(const std::shared_ptr<Core>& core,
                                                    StreamQueue& queue) {
  // What a failed capture's host calls own goes after the lock: it may be the device's.
  std::shared_ptr<host::Capture> kept;
  const Engine::Lock lock = core->engine.Guard();
  kept = queue.part.capture;
  // Of a lost device a capture ends, too, and what waits for the end of all captures may go on.
  if (!core->engine.health().ok()) core->engine.captures().Leave(queue.part);
  GRAPHTREE_RETURN_IF_ERROR(core->engine.MayCall());
  GRAPHTREE_ASSIGN_OR_RETURN(
      const std::shared_ptr<Capture> capture,
      core->engine.captures().End(queue.part, std::this_thread::get_id()));
  return std::make_unique<HostGraph>(core, std::move(*capture));
}

absl::StatusOr<std::unique_ptr<Graph>> HostStream::EndCapture() {
  return EndCaptureOf(core_, *queue_);
}

absl::Status HostStream::MayListCapture(absl::string_view what) const {
  GRAPHTREE_RETURN_IF_ERROR(MayIssue(what));
  if (capturing()) return absl::OkStatus();
  return DeviceError(ErrorCode::kIllegalState,
                     absl::StrCat(what, " of ", queue_->name(), ", which is not capturing"));
}

absl::StatusOr<std::vector<OpToken>> HostStream::CaptureFrontier() {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayListCapture("the capture frontier"));
  std::vector<OpToken> tokens;
  for (OpId op : queue_->part.frontier) tokens.push_back(queue_->part.capture->TokenOf(op));
  return tokens;
}

absl::StatusOr<std::vector<Op>> HostStream::CapturedOps() {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayListCapture("the captured ops"));
  return queue_->part.capture->ops;
}

absl::StatusOr<size_t> HostStream::CapturedOpCount() {
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(MayListCapture("the number of captured ops"));
  return queue_->part.capture->ops.size();
}

}  // namespace graphtree::host
