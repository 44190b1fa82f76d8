// The inside of a stream: its queue of units, its clock of other streams, its part in a capture.
//
//   StreamQueue   head -> [unit 7] -> [unit 8] -> [unit 9] <- tail       completed 6, issued 9
//                           |
//                           a Work, a replay, a wait for a ticket, or a time stamp
//
// Units are recycled with the memory of their arguments, so that issuing an op allocates nothing.
// An untimed event is no unit: it is the ticket of the last one issued before it. An event out of
// the middle of a graph is a ticket in a slot that counts the runs of the op that sets the event.
//
// Guarded by the engine's lock.
#ifndef GRAPHTREE_DEVICE_HOST_ENGINE_STREAM_QUEUE_H_
#define GRAPHTREE_DEVICE_HOST_ENGINE_STREAM_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/host/graph/capture.h"
#include "device/host/graph/replay.h"
#include "device/host/ops/vector_clock.h"
#include "device/host/ops/work.h"

namespace graphtree::host {

struct EventState {
  bool timing = false;
  bool recorded = false;
  Ticket ticket;
  VectorClock clock;       // of its stream when it was recorded, itself included
  CaptureMark mark;
  uint64_t stamped = 0;    // the sequence at which `nanoseconds` was taken
  int64_t nanoseconds = 0;
};

enum class UnitKind : uint8_t { kWork, kReplay, kWait, kStamp };

struct Unit {
  UnitKind kind = UnitKind::kWork;
  bool poisons = false;  // a fill waits for this unit (waiting_fills.h)
  uint64_t sequence = 0;  // in its stream
  uint64_t number = 0;    // of all that was issued to any stream
  Unit* next = nullptr;
  Work work;
  std::shared_ptr<Replay> replay;
  uint64_t patch = 0;
  uint64_t launch = 0;  // the watcher's number of a replay
  Ticket ticket;
  std::shared_ptr<EventState> event;
};

struct StreamQueue {
  uint32_t slot = 0;
  int owners = 0;            // 0: the slot is free once the queue is empty
  // The slot counts the runs of an op of this executable that sets an event (graph/replay.h), and
  // no units come to the queue; free once the executable is gone. Else empty.
  std::weak_ptr<const Replay> events_of;
  bool ours = true;          // made by NewStream, not a caller's own
  uint64_t issued = 0;
  uint64_t completed = 0;
  Unit* head = nullptr;
  Unit* tail = nullptr;
  bool front_taken = false;  // the front is ready, or runs

  struct Waiter {
    uint64_t sequence;
    StreamQueue* stream;
  };
  std::vector<Waiter> waiters;  // streams whose front waits for this one

  // The stream's clock from a sequence number on; the last entry holds for what is issued next.
  struct Knowledge {
    uint64_t from;
    VectorClock clock;
  };
  std::deque<Knowledge> knowledge;
  uint64_t host_version_seen = 0;

  CapturePart part;
  std::thread worker;

  bool is_free() const { return owners == 0 && head == nullptr && events_of.expired(); }
  const std::string& name() const { return part.stream_name; }
  Ticket last() const { return {slot, issued}; }
  // The clock that the next op will have, for changing it.
  VectorClock& NextClock() {
    if (knowledge.back().from != issued + 1)
      knowledge.push_back({issued + 1, knowledge.back().clock});
    return knowledge.back().clock;
  }
  // The clock of a unit at the front.
  const VectorClock& ClockAt(uint64_t sequence) {
    ForgetBefore(sequence);
    return knowledge.front().clock;
  }
  // Drops clocks that only units before that one had. Called for every unit that comes to the
  // front, since ClockAt is never called on a stream that only waits and runs nothing.
  void ForgetBefore(uint64_t sequence) {
    while (knowledge.size() > 1 && knowledge[1].from <= sequence) knowledge.pop_front();
  }
};

// Units, used again and again.
class UnitPool {
 public:
  Unit* Take() {
    if (free_ == nullptr) Grow();
    Unit* unit = free_;
    free_ = unit->next;
    unit->next = nullptr;
    return unit;
  }
  void Give(Unit* unit) {
    unit->poisons = false;
    if (unit->kind == UnitKind::kReplay) unit->replay.reset();
    if (unit->kind == UnitKind::kStamp) unit->event.reset();
    unit->next = free_;
    free_ = unit;
  }

 private:
  void Grow() {
    constexpr int kUnitsAtOnce = 64;
    blocks_.push_back(std::make_unique<Unit[]>(kUnitsAtOnce));
    for (int i = 0; i < kUnitsAtOnce; ++i) {
      blocks_.back()[i].next = free_;
      free_ = &blocks_.back()[i];
    }
  }

  std::vector<std::unique_ptr<Unit[]>> blocks_;
  Unit* free_ = nullptr;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_ENGINE_STREAM_QUEUE_H_
