// Keeps errors that the next call returns before it does anything. A step that could not begin
// makes one call fail. A tree that is lost, because it is unknown what its memory holds or when its
// work ends, makes every call fail until it is closed.
//
//   Lose(a), Lose(b)   every Take() is a: the first failure is the one that explains the others
//
// Threads: any. Cost: any() is one load.
#ifndef GRAPHTREE_GRAPHS_RUN_PENDING_ERRORS_H_
#define GRAPHTREE_GRAPHS_RUN_PENDING_ERRORS_H_

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace graphtree {

class PendingErrors {
 public:
  bool any() const { return any_.load(std::memory_order_relaxed); }

  void NoteMissedStep(std::string why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    step_ = absl::FailedPreconditionError(std::move(why));
    any_.store(true, std::memory_order_relaxed);
  }
  // REQUIRES: `why` is a failure.
  void Lose(const absl::Status& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lost_.ok()) lost_ = why;
    any_.store(true, std::memory_order_relaxed);
  }
  bool is_lost() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !lost_.ok();
  }
  // The error that the next call returns, or OK.
  absl::Status Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!lost_.ok()) return lost_;
    any_.store(false, std::memory_order_relaxed);
    return std::exchange(step_, absl::OkStatus());
  }

 private:
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  absl::Status step_;  // guarded by mutex_
  absl::Status lost_;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_PENDING_ERRORS_H_
