// Issuing work: slots, units, what a stream knows, and filling bytes in order.
#include "device/host/engine/engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "device/error.h"
#include "device/host/checks/fault_guard.h"

namespace graphtree::host {

Engine::Engine(const HostOptions& options)
    : options_(options), checks_(options), random_(options.seed) {
  InstallFaultHandler();
}

Engine::~Engine() { Stop(); }

void Engine::Lose(absl::Status why) {
  if (health_.ok()) health_ = std::move(why);
}

const absl::Status& Engine::MayCall() const {
  static const absl::Status* const kRefused = new absl::Status(
      DeviceError(ErrorCode::kNotPermitted,
                  "a call of the device from inside a kernel or a host call that it runs"));
  return health_.ok() && IsInside(this) ? *kRefused : health_;
}

StreamQueue* Engine::FreeSlot() {
  for (const auto& queue : queues_) {
    if (queue->is_free()) return queue.get();
  }
  queues_.push_back(std::make_unique<StreamQueue>());
  queues_.back()->slot = static_cast<uint32_t>(queues_.size() - 1);
  return queues_.back().get();
}

StreamQueue* Engine::NewQueue(std::string prefix, bool ours) {
  StreamQueue* const free = FreeSlot();
  if (options_.scheduler == HostScheduler::kThreads && !free->worker.joinable()) {
    free->worker = std::thread([this, free] { WorkerLoop(free); });
  }
  free->owners = 1;
  free->ours = ours;
  free->part.stream_name = absl::StrCat(prefix, " ", streams_named_++);
  free->part.legacy = false;
  checks_.NameSlot(free->slot, free->name());
  free->knowledge.clear();
  free->knowledge.push_back({free->issued + 1, {}});
  free->host_version_seen = 0;
  return free;
}

StreamQueue* Engine::LegacyQueue() {
  if (legacy_ == nullptr) {
    legacy_ = NewQueue("legacy stream", /*ours=*/false);
    legacy_->part.legacy = true;
  }
  ++legacy_->owners;
  return legacy_;
}

bool Engine::IsLive(const void* queue) const {
  for (const auto& known : queues_) {
    if (known.get() == queue) return known->owners > 0;
  }
  return false;
}

void Engine::GiveUp(StreamQueue& queue) {
  if (--queue.owners == 0) captures_.Leave(queue.part);
}

Unit* Engine::NewUnit(UnitKind kind) {
  Unit* unit = units_.Take();
  unit->kind = kind;
  return unit;
}

void Engine::HostKnows(Ticket ticket, const VectorClock& clock) {
  // A wait for what is done adds no unit: the ticket may be old and the clock new all the same.
  const bool joined = host_clock_.Join(clock);
  if (!host_clock_.Raise(ticket) && !joined) return;
  ++host_version_;
  checks_.races().Prune(host_clock_);
}

void Engine::LearnFromHost(StreamQueue& queue) {
  if (queue.host_version_seen == host_version_) return;
  queue.NextClock().Join(host_clock_);
  queue.host_version_seen = host_version_;
}

// From now on the events that the launch sets stand for it.
void Engine::SetEvents(const StreamQueue& queue, const Unit& unit) {
  for (EventOp& event_op : unit.replay->event_ops()) {
    if (!event_op.has_slot) {
      StreamQueue* const slot = FreeSlot();
      slot->events_of = unit.replay;
      event_op.slot = slot->slot;
      event_op.has_slot = true;
    }
    EventState& event = *unit.replay->At(event_op.op, unit.patch).event();
    event.recorded = true;
    event.mark = {};
    event.ticket = {event_op.slot, ++queues_[event_op.slot]->issued};
    event.clock = queue.knowledge.back().clock;
    event.clock.Raise({queue.slot, unit.sequence - 1});
    event.clock.AddPart({queue.slot, unit.sequence}, event_op.before);
    event.clock.Raise(event.ticket);
  }
}

void Engine::Issue(Lock& lock, StreamQueue& queue, Unit* unit) {
  LearnFromHost(queue);
  if (unit->kind == UnitKind::kReplay) {
    Replay& replay = *unit->replay;
    unit->ticket = replay.last_launch;
    if (unit->ticket.sequence != 0 && unit->ticket.slot != queue.slot) {
      queue.NextClock().Join(replay.last_clock);
      queue.NextClock().Raise(replay.last_launch);
    }
    unit->patch = replay.Issued();
    replay.last_launch = {queue.slot, queue.issued + 1};
    replay.last_clock = queue.knowledge.back().clock;
  }
  unit->sequence = ++queue.issued;
  unit->number = ++issued_;
  if (unit->kind == UnitKind::kReplay && !unit->replay->event_ops().empty()) {
    SetEvents(queue, *unit);
  }
  if (queue.tail != nullptr) queue.tail->next = unit;
  queue.tail = unit;
  ++pending_;
  if (queue.head == nullptr) {
    queue.head = unit;
    Advance(queue);
  }
  AfterIssue(lock, queue);
}

void Engine::AfterIssue(Lock& lock, StreamQueue& queue) {
  switch (options_.scheduler) {
    case HostScheduler::kImmediate:
      WaitFor(lock, queue.last());
      return;
    case HostScheduler::kSeeded:
      if (pending_ > options_.queue_limit) RunDownTo(lock, options_.queue_limit / 2);
      return;
    case HostScheduler::kThreads:
      LetOthersKnow();
      return;
  }
}

void Engine::IssueWait(Lock& lock, StreamQueue& queue, Ticket ticket, const VectorClock& clock) {
  queue.NextClock().Join(clock);
  if (IsDone(ticket)) return;
  Unit* unit = NewUnit(UnitKind::kWait);
  unit->ticket = ticket;
  Issue(lock, queue, unit);
}

void Engine::Record(Lock& lock, StreamQueue& queue, const std::shared_ptr<EventState>& event) {
  LearnFromHost(queue);
  event->recorded = true;
  event->mark = {};
  event->ticket = {queue.slot, queue.issued + (event->timing ? 1 : 0)};
  event->clock = queue.knowledge.back().clock;
  event->clock.Raise(event->ticket);
  if (!event->timing) return;
  Unit* unit = NewUnit(UnitKind::kStamp);
  unit->event = event;
  Issue(lock, queue, unit);
}

bool Engine::Touches(Unit& unit, AddressRange range) const {
  if (unit.kind == UnitKind::kReplay) return unit.replay->Touches(range);
  if (unit.kind != UnitKind::kWork) return false;
  if (unit.work.MayTouchUnnamed()) return true;
  for (const Footprint& print : unit.work.footprints()) {
    if (print.range.Overlaps(range)) return true;
  }
  return false;
}

void Engine::FillInOrder(AddressRange range, uint8_t byte) {
  std::vector<Unit*> before;
  for (const auto& queue : queues_) {
    Unit* last = nullptr;
    for (Unit* unit = queue->head; unit != nullptr; unit = unit->next) {
      if (Touches(*unit, range)) last = unit;
    }
    if (last != nullptr) before.push_back(last);
  }
  if (before.empty()) return FillNow({{range, byte}});
  waiting_fills_.Add({range, byte}, issued_, before);
}

void Engine::FillNow(const std::vector<ByteFill>& fills) {
  if (!health_.ok()) return;
  for (const ByteFill& fill : fills) checks_.Fill(fill.range, fill.byte);
}

}  // namespace graphtree::host
