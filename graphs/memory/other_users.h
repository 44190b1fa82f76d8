// Streams of other trees whose work uses memory of this tree that nobody holds any more: a tensor
// was handed over to a call of another tree, and died there.
//
//   tree A, stream 1   makes x                                   next call (waits)
//   tree B, stream 2             call takes the handle of x, reads x --------^
//
// The caller has no handle left to hold until B is done, so A's next work must come after B's.
//
// Threads: Add may be called on any thread, all else by the tree's caller. Cost while there are no
// such streams: one load.
#ifndef GRAPHTREE_GRAPHS_MEMORY_OTHER_USERS_H_
#define GRAPHTREE_GRAPHS_MEMORY_OTHER_USERS_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "device/stream.h"
#include "device/stream_life.h"

namespace graphtree {

class OtherUsers {
 public:
  void Add(const std::shared_ptr<StreamLife>& stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::shared_ptr<StreamLife>& known : streams_) {
      if (known == stream) return;
    }
    streams_.push_back(stream);
    any_.store(true, std::memory_order_release);
  }
  bool any() const { return any_.load(std::memory_order_acquire); }
  // The streams that were added since the last Take.
  StreamLives Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    any_.store(false, std::memory_order_relaxed);
    return std::exchange(streams_, {});
  }

 private:
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  StreamLives streams_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_OTHER_USERS_H_
