// What must not happen while a capture is open: unmapping, giving memory to the driver, waiting,
// asking events. It is queued here and done when no capture is open; one queue serves trimming,
// parking, evicting and closing, in the order in which they asked.
//
//   deferred->Do("release a piece", [this] { return row.Release(3); });   // now, or later
//
// "Open" means any capture begun through the device, on any thread, whatever pool it allocates
// from. Somebody who is about to capture, or to launch what was captured, holds the queue as well.
// Threads: safe from several threads; work runs on the thread that asks for it or drains.
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

  // Holds for as long as it lives.
  class Holding {
   public:
    explicit Holding(DeferredQueue& queue) : queue_(queue) { queue_.Hold(); }
    ~Holding() { queue_.LetGo(); }
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;

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

  // Work waits from here on, as if a capture were open, until it is let go as often. It is then
  // done by whoever comes next.
  void Hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void LetGo() { holds_.fetch_sub(1, std::memory_order_relaxed); }

  // Does it now, after what was queued before, or queues it (and returns OK) while a capture is
  // open.
  absl::Status Do(absl::string_view what, Work work);
  // Does what is queued, if no capture is open. Everything is tried; the first failure comes back,
  // with what was being done.
  absl::Status Drain();

  size_t size() const;
  uint64_t deferred_total() const;

 private:
  struct Item {
    std::string what;
    Work work;
  };

  Device& device_;
  std::atomic<int> holds_{0};
  std::atomic<uint32_t> pending_{0};  // size(), without the lock
  mutable std::mutex mutex_;
  std::deque<Item> items_;       // guarded by mutex_
  uint64_t deferred_total_ = 0;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_DEFERRED_H_
