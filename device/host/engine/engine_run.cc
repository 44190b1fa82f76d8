// Running work: what may run next, picking one, running it, and what follows from its end.
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/guarded_call.h"
#include "device/error.h"
#include "device/host/checks/fault_guard.h"
#include "device/host/engine/engine.h"
#include "device/host/engine/engine_sleep.h"

namespace graphtree::host {
namespace {

int64_t NanosecondsNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A counter, mixed: neighbouring seeds give unlike numbers from the first one on.
uint32_t NextRandom(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return static_cast<uint32_t>(mixed >> 32);
}

}  // namespace

void Engine::MakeReady(StreamQueue& queue) {
  queue.front_taken = true;
  Unit& unit = *queue.head;
  if (unit.kind != UnitKind::kReplay) {
    ready_.push_back({&queue, kWhole});
    return;
  }
  ready_ops_.clear();
  unit.replay->Start(ready_ops_);
  for (uint32_t op : ready_ops_) ready_.push_back({&queue, op});
}

// True if the front is done and the next unit came to the front.
bool Engine::AdvanceFront(StreamQueue& queue) {
  Unit& unit = *queue.head;
  if (unit.kind == UnitKind::kWait || unit.kind == UnitKind::kReplay) {
    if (unit.ticket.sequence != 0 && !IsDone(unit.ticket)) {
      queues_[unit.ticket.slot]->waiters.push_back({unit.ticket.sequence, &queue});
      queue.front_taken = true;
      return false;
    }
  }
  if (unit.kind == UnitKind::kStamp && unit.event->ticket.slot == queue.slot &&
      unit.event->ticket.sequence == unit.sequence) {
    unit.event->nanoseconds = NanosecondsNow();
    unit.event->stamped = unit.sequence;
  }
  const bool runs = unit.kind == UnitKind::kWork ||
                    (unit.kind == UnitKind::kReplay && unit.replay->plan().op_count() > 0);
  if (runs) {
    MakeReady(queue);
    return false;
  }
  CompleteFront(queue);
  return true;
}

void Engine::Advance(StreamQueue& queue) {
  to_advance_.push_back(&queue);
  while (!to_advance_.empty()) {
    StreamQueue& next = *to_advance_.back();
    to_advance_.pop_back();
    while (next.head != nullptr && !next.front_taken && AdvanceFront(next)) continue;
  }
}

// Leaves the streams that waited for this in to_advance_.
void Engine::CompleteFront(StreamQueue& queue) {
  Unit* unit = queue.head;
  queue.completed = unit->sequence;
  queue.ForgetBefore(unit->sequence + 1);
  queue.head = unit->next;
  if (queue.head == nullptr) queue.tail = nullptr;
  queue.front_taken = false;
  --pending_;
  if (unit->kind == UnitKind::kReplay) unit->replay->Over();
  if (unit->poisons) FillNow(waiting_fills_.Over(*unit));
  units_.Give(unit);
  LetWaitersOn(queue);
}

// Leaves them in to_advance_.
void Engine::LetWaitersOn(StreamQueue& queue) {
  for (size_t i = 0; i < queue.waiters.size();) {
    if (queue.waiters[i].sequence > queue.completed) {
      ++i;
      continue;
    }
    queue.waiters[i].stream->front_taken = false;
    to_advance_.push_back(queue.waiters[i].stream);
    queue.waiters[i] = queue.waiters.back();
    queue.waiters.pop_back();
  }
}

// The op has run for the launch at the front of `queue`.
void Engine::NoteEventOp(const StreamQueue& queue, const EventOp& event_op) {
  StreamQueue& slot = *queues_[event_op.slot];
  ++slot.completed;
  EventState& event = *queue.head->replay->At(event_op.op, queue.head->patch).event();
  if (event.ticket.slot == slot.slot && event.ticket.sequence == slot.completed) {
    event.nanoseconds = NanosecondsNow();
    event.stamped = slot.completed;
  }
  LetWaitersOn(slot);
}

Engine::ReadyItem Engine::Pick() {
  const size_t count = ready_.size();
  const size_t index =
      count == 1 ? 0 : static_cast<size_t>((uint64_t{NextRandom(random_)} * count) >> 32);
  const ReadyItem item = ready_[index];
  ready_[index] = ready_.back();
  ready_.pop_back();
  ++taken_;
  return item;
}

void Engine::RunOne(Lock& lock) {
  const ReadyItem item = Pick();
  const Unit& unit = *item.queue->head;
  const Work& work =
      unit.kind == UnitKind::kReplay ? unit.replay->At(item.op, unit.patch) : unit.work;
  if (work.kind() == OpKind::kHost && health_.ok()) {
    HandToCallbacks(lock, item);
  } else {
    RunItem(lock, item);
  }
}

bool Engine::Admit(StreamQueue& queue, Unit& unit, uint32_t op, const Work& work) {
  if (!health_.ok()) return false;
  const bool replayed = unit.kind == UnitKind::kReplay;
  if (options_.trace) {
    options_.trace({queue.name(), work.name(), unit.sequence, replayed, replayed ? op : 0});
  }
  if (!waiting_fills_.empty()) FillNow(waiting_fills_.Starts(unit.number, work));
  if (work.footprints().empty()) return true;
  Moment now;
  now.ticket = {queue.slot, unit.sequence};
  now.clock = &queue.ClockAt(unit.sequence);
  if (replayed) now.place = unit.replay->plan().place(op);
  absl::Status status = checks_.Run(work, now);
  if (status.ok()) return true;
  Lose(std::move(status));
  return false;
}

void Engine::RunItem(Lock& lock, ReadyItem item) {
  Unit& unit = *item.queue->head;
  const bool whole = item.op == kWhole;
  const Work& work = whole ? unit.work : unit.replay->At(item.op, unit.patch);
  if (Admit(*item.queue, unit, item.op, work)) {
    const bool host_call = work.kind() == OpKind::kHost;
    std::optional<Op> watched;  // as the work may be gone afterwards
    if (watcher_ != nullptr) work.Describe(watched.emplace());
    const int64_t start_ns = watched.has_value() ? NanosecondsNow() : 0;
    lock.unlock();
    absl::Status thrown;
    const Fault fault = RunGuarded([&] { thrown = Guarded([&work] { work.Run(); }); }, this);
    if (whole && !fault.happened) unit.work.DropFunction();
    lock.lock();
    if (watched.has_value()) TellWatcher(item, start_ns, *watched);
    if (host_call) {
      // A caller that a callback has woken knows that the stream came this far.
      HostKnows({item.queue->slot, unit.sequence}, item.queue->ClockAt(unit.sequence));
    }
    if (fault.happened) {
      Lose(DeviceError(ErrorCode::kIllegalAddress,
                       absl::StrCat(work.name(), " on ", item.queue->name(), " touched ",
                                    PlaceOf(fault))));
    } else if (!thrown.ok()) {
      Lose(DeviceError(ErrorCode::kLaunchFailure, absl::StrCat(work.name(), " on ",
                                                               item.queue->name(), ": ",
                                                               thrown.message())));
    }
  }
  FinishItem(item);
  LetOthersKnow();
}

// Who watches may have changed while the op ran.
void Engine::TellWatcher(ReadyItem item, int64_t start_ns, const Op& op) {
  if (watcher_ == nullptr) return;
  HostWorkDone done;
  done.start_ns = start_ns;
  done.end_ns = NanosecondsNow();
  if (item.op != kWhole) {
    const Unit& unit = *item.queue->head;
    done.launch = unit.launch;
    done.executable = unit.replay.get();
    done.op = item.op;
  }
  done.kind = op.kind;
  done.stream = item.queue->slot;
  done.bytes = op.kind == OpKind::kFill ? op.fill.count * op.fill.width : op.copy.bytes;
  done.fill_value = op.fill.value;
  done.shape = op.shape;
  done.name = op.name;
  watcher_->Done(done);
}

void Engine::FinishItem(ReadyItem item) {
  --taken_;
  StreamQueue& queue = *item.queue;
  if (item.op != kWhole) {
    Replay& replay = *queue.head->replay;
    const EventOp* const event_op = replay.FindEventOp(item.op);
    if (event_op != nullptr) NoteEventOp(queue, *event_op);
    ready_ops_.clear();
    replay.Finish(item.op, ready_ops_);
    for (uint32_t op : ready_ops_) ready_.push_back({&queue, op});
    if (!replay.finished()) {
      if (event_op != nullptr) Advance(queue);
      return;
    }
  }
  CompleteFront(queue);
  Advance(queue);
}

void Engine::LetOthersKnow() {
  if (sleepers_ > 0) changed_.notify_all();
}

template <typename Done>
void Engine::RunUntil(Lock& lock, const Done& done) {
  const bool runs_itself = options_.scheduler != HostScheduler::kThreads;
  while (!done()) {
    if (runs_itself && !ready_.empty()) {
      RunOne(lock);
      continue;
    }
    GRAPHTREE_CHECK(!runs_itself || taken_ > 0) << "work is pending that nothing can start";
    Sleep(lock, changed_, sleepers_);
  }
}

bool Engine::Poll(Lock& lock, Ticket ticket) {
  if (IsDone(ticket) || options_.scheduler != HostScheduler::kSeeded) return IsDone(ticket);
  if (!poll_thread_.joinable()) poll_thread_ = std::thread([this] { PollLoop(); });
  if (!polling_) {
    // At least one, so that asking again and again comes to an end.
    poll_steps_ = 1 + static_cast<int>(NextRandom(random_) % 8);
    polling_ = true;
    LetOthersKnow();
  }
  SleepUntil(lock, changed_, sleepers_, 2 * kPatience, [&] { return !polling_ || IsDone(ticket); });
  return IsDone(ticket);
}

void Engine::WaitFor(Lock& lock, Ticket ticket) {
  RunUntil(lock, [&] { return IsDone(ticket); });
}

void Engine::RunDownTo(Lock& lock, uint64_t pending) {
  RunUntil(lock, [&] { return pending_ <= pending; });
}

}  // namespace graphtree::host
