// Asking and waiting for an event, and the time between two.
#include "device/host/objects/host_event.h"

#include <utility>

#include "device/base/status_macros.h"
#include "device/error.h"

namespace graphtree::host {

HostEvent::HostEvent(std::shared_ptr<Core> core, bool timing)
    : core_(std::move(core)), state_(std::make_shared<EventState>()) {
  state_->timing = timing;
  ++core_->events;
}

HostEvent::~HostEvent() {
  const Engine::Lock lock = core_->engine.Guard();
  --core_->events;
}

bool HostEvent::IsOver() const {
  return !state_->recorded || core_->engine.IsDone(state_->ticket);
}

absl::StatusOr<bool> HostEvent::IsDone() {
  Engine& engine = core_->engine;
  Engine::Lock lock = engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
  GRAPHTREE_RETURN_IF_ERROR(engine.captures().MayWaitFor(state_->mark, "querying"));
  if (!state_->recorded) return true;
  const Ticket ticket = state_->ticket;
  const VectorClock clock = state_->clock;
  if (!engine.Poll(lock, ticket)) {
    GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
    return false;
  }
  engine.HostKnows(ticket, clock);
  GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
  return true;
}

absl::Status HostEvent::Synchronize() {
  Engine& engine = core_->engine;
  Engine::Lock lock = engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
  GRAPHTREE_RETURN_IF_ERROR(engine.captures().MayWaitFor(state_->mark, "synchronising"));
  if (!state_->recorded) return absl::OkStatus();
  const Ticket ticket = state_->ticket;
  const VectorClock clock = state_->clock;
  engine.WaitFor(lock, ticket);
  engine.HostKnows(ticket, clock);
  return engine.MayCall();
}

absl::StatusOr<double> HostEvent::NanosecondsSince(Event& start) {
  const auto* from = dynamic_cast<const HostEvent*>(&start);
  if (from == nullptr || from->core_ != core_) {
    return DeviceError(ErrorCode::kInvalidHandle, "timing from an event of another device");
  }
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->engine.MayCall());
  if (!state_->timing || !from->state_->timing) {
    return DeviceError(ErrorCode::kInvalidHandle, "timing events that were made without timing");
  }
  for (const HostEvent* event : {from, static_cast<const HostEvent*>(this)}) {
    GRAPHTREE_RETURN_IF_ERROR(core_->engine.captures().MayTime(event->state_->mark));
    if (!event->state_->recorded) {
      return DeviceError(ErrorCode::kInvalidHandle, "timing an event that was never recorded");
    }
  }
  if (!IsOver() || !from->IsOver()) {
    return DeviceError(ErrorCode::kNotReady, "timing an event that is not done");
  }
  return static_cast<double>(state_->nanoseconds - from->state_->nanoseconds);
}

}  // namespace graphtree::host
