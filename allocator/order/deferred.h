// Work that must not be done while a capture is open: unmapping, giving memory back to the driver,
// waiting, asking events. This queue takes such work and does it when no capture is open. One queue
// serves trimming, parking, evicting and closing, in the order in which they asked.
//
//   deferred->Do("release a piece", [this] { return row.Release(3); });   // now, or later
//
// "Open" means any capture begun through the device, on any thread, whatever pool it allocates
// from. Whoever is about to capture, or to launch a graph just captured, holds the queue as if a
// capture were open.
//
// Parking takes memory away that calls use. A call forbids it for as long as it runs: then the
// queue does its work up to the first park, which waits with all that comes after it. A call that
// comes while the memory is being parked sees that, so one of the two always knows of the other:
//
//   call   ForbidParking, then asks is_parking        park   is_parking, then asks who forbids it
//
// Threads: safe from several; work runs on the thread that calls Do or Drain.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_DEFERRED_H_
#define GRAPHTREE_ALLOCATOR_ORDER_DEFERRED_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/device.h"

namespace graphtree {

class DeferredQueue {
 public:
  using Work = std::function<absl::Status()>;

  // Holds the queue for as long as the Holding lives.
  class Holding {
   public:
    explicit Holding(DeferredQueue& queue) : queue_(queue) { queue_.Hold(); }
    ~Holding() { queue_.LetGo(); }
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;

   private:
    DeferredQueue& queue_;
  };

  // Parks wait for as long as the NoParking lives.
  class NoParking {
   public:
    explicit NoParking(DeferredQueue& queue) : queue_(queue) { queue_.ForbidParking(); }
    ~NoParking() { queue_.AllowParking(); }
    NoParking(const NoParking&) = delete;
    NoParking& operator=(const NoParking&) = delete;

   private:
    DeferredQueue& queue_;
  };

  explicit DeferredQueue(Device* device) : device_(*device) {}
  DeferredQueue(const DeferredQueue&) = delete;
  DeferredQueue& operator=(const DeferredQueue&) = delete;

  bool must_wait() const {
    return holds_.load(std::memory_order_relaxed) > 0 || device_.open_captures() > 0;
  }
  // Is there anything to drain? One load.
  bool is_pending() const { return pending_.load(std::memory_order_relaxed) != 0; }

  // Work waits, as if a capture were open, until LetGo was called as often as Hold. LetGo does no
  // work: the next Do or Drain does.
  void Hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void LetGo() { holds_.fetch_sub(1, std::memory_order_relaxed); }
  // Parks wait until AllowParking was called as often as ForbidParking. On any thread.
  void ForbidParking() { no_parking_.fetch_add(1); }
  void AllowParking() { no_parking_.fetch_sub(1); }
  // Whether a park is being done: the memory goes, although nothing says yet that it has gone.
  bool is_parking() const { return is_parking_.load(); }

  // Does `work` now, after the work queued before; or queues it, and returns OK, while a capture is
  // open. `what` names it in errors.
  absl::Status Do(absl::string_view what, Work work) { return Do({std::string(what), {}, work}); }
  // The same for work that parks memory.
  absl::Status Park(absl::string_view what, Work work) {
    return Do({std::string(what), Kind::kPark, work});
  }
  // Does the queued work that need not wait. Goes on after a failure, and returns the first one,
  // with the name of the work that failed.
  absl::Status Drain();

  size_t size() const;
  uint64_t deferred_total() const;

 private:
  enum class Kind : uint8_t { kAny, kPark };
  struct Item {
    std::string what;
    Kind kind = Kind::kAny;
    Work work;
  };

  absl::Status Do(Item item);
  // Whether the work may be done now. If so, DoNow must follow.
  bool MayBegin(const Item& item);
  absl::Status DoNow(const Item& item);

  Device& device_;
  std::atomic<int> holds_{0};
  std::atomic<int> no_parking_{0};
  std::atomic<bool> is_parking_{false};
  std::atomic<uint32_t> pending_{0};  // size(), without the lock
  mutable std::mutex mutex_;
  std::deque<Item> items_;       // guarded by mutex_
  uint64_t deferred_total_ = 0;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_DEFERRED_H_
