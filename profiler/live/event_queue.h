// A bounded queue that many threads put into and one takes from, without a lock.
//
//   slots     | full | full | empty | being filled | empty | ...
//   turn      |  5   |  6   |   3   |      4       |   5   |
//                ^ take                     ^ put
//
// Each slot has a turn: who wants to put the n-th value waits for no one, but finds in the slot's
// turn whether the value of the round before has been taken. If it has not, the queue is full, and
// the value is refused: whoever puts is a thread that launches, and must not wait.
//
// Threads: any number put, one takes. Cost: one compare-and-swap and a move.
#ifndef GRAPHTREE_PROFILER_LIVE_EVENT_QUEUE_H_
#define GRAPHTREE_PROFILER_LIVE_EVENT_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/base/check.h"

namespace graphtree::live {

template <typename T>
class EventQueue {
 public:
  // `room` is a power of two, and at least 2: with one place a slot's turn would not tell a value
  // that waits to be taken from one that was.
  explicit EventQueue(size_t room) : mask_(room - 1), slots_(std::make_unique<Slot[]>(room)) {
    GRAPHTREE_CHECK(room >= 2 && (room & mask_) == 0);
    for (size_t i = 0; i < room; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // False if the queue is full: the value is as it was.
  bool Put(T&& value) {
    uint64_t place = put_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[place & mask_];
      const uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == place) {
        if (!put_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) continue;
        slot.value = std::move(value);
        slot.turn.store(place + 1, std::memory_order_release);
        return true;
      }
      if (turn < place) return false;
      place = put_.load(std::memory_order_relaxed);
    }
  }

  // False if the queue is empty, or if the next value is still being put.
  bool Take(T* value) {
    Slot& slot = slots_[take_ & mask_];
    if (slot.turn.load(std::memory_order_acquire) != take_ + 1) return false;
    *value = std::move(slot.value);
    slot.value = T{};
    slot.turn.store(take_ + mask_ + 1, std::memory_order_release);
    ++take_;
    return true;
  }

  size_t room() const { return mask_ + 1; }

 private:
  struct Slot {
    std::atomic<uint64_t> turn{0};
    T value{};
  };

  const uint64_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<uint64_t> put_{0};
  alignas(64) uint64_t take_ = 0;  // of the one that takes
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_EVENT_QUEUE_H_
