// Work that waits: for the pool's next call, or for the end of every open capture.
//
//   another thread          Free(block)  --> frees     --+
//   a scope that cannot                                  +--> done by whoever calls next
//     be rolled back now    its end      --> abandoned --+
//   a call while a capture
//     is open               Trim, Park   --> deferred    ----> done by the end of the last scope,
//                                                              or by the first call after captures
//
// Nobody waits for the result of deferred work, so its first failure is kept here.
//
// Threads: any thread may use `frees` and SetHasAbandoned. Everything else is for the thread that
// is inside of the pool. Cost of any(): three loads.
#ifndef GRAPHTREE_ALLOCATOR_POOL_WAITING_WORK_H_
#define GRAPHTREE_ALLOCATOR_POOL_WAITING_WORK_H_

#include <atomic>

#include "absl/status/status.h"
#include "allocator/order/deferred.h"
#include "allocator/order/queued_frees.h"
#include "device/device.h"

namespace graphtree {

class WaitingWork {
 public:
  explicit WaitingWork(Device* device) : deferred_(device) {}

  bool any() const {
    return deferred_.is_pending() || frees_.any() ||
           has_abandoned_.load(std::memory_order_relaxed);
  }

  QueuedFrees& frees() { return frees_; }
  const QueuedFrees& frees() const { return frees_; }
  DeferredQueue& deferred() { return deferred_; }
  const DeferredQueue& deferred() const { return deferred_; }
  // Whether unmapping and waiting are forbidden now, because a capture is open.
  bool must_wait() const { return deferred_.must_wait(); }
  void SetHasAbandoned(bool has) { has_abandoned_.store(has, std::memory_order_release); }

  // Does deferred work, if no capture is open.
  void DrainDeferred() {
    if (deferred_.is_pending()) KeepFailure(deferred_.Drain());
  }
  void KeepFailure(const absl::Status& status) { first_failure_.Update(status); }
  const absl::Status& first_failure() const { return first_failure_; }

 private:
  // For any thread.
  QueuedFrees frees_;
  std::atomic<bool> has_abandoned_{false};
  // For the thread inside of the pool. (The queue itself is safe from several.)
  DeferredQueue deferred_;
  absl::Status first_failure_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_WAITING_WORK_H_
