// Streams that use memory of somebody who has to go on after them, and who may be idle for long:
// other threads name streams here, and the owner takes them when it is called next.
//
//   thread 2   Add(s1)  Add(s2)  Add(s2)  ...      a stream of its own for each request, say
//   owner                                   ... Take: s1, s2
//
// A stream is named once. One that has ended and whose work is done is forgotten when twice as many
// have come as were left the last time, so that what an idle owner has been told stays small. That
// also goes for the time while a capture is open: such a stream left an event, and an event may be
// asked then, unless that capture has recorded it.
//
// Threads: any. Cost while nothing was added: one load.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_STREAM_USERS_H_
#define GRAPHTREE_ALLOCATOR_ORDER_STREAM_USERS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/algorithm/container.h"
#include "device/stream_life.h"

namespace graphtree {

class StreamUsers {
 public:
  StreamUsers() = default;
  StreamUsers(const StreamUsers&) = delete;
  StreamUsers& operator=(const StreamUsers&) = delete;

  void Add(const std::shared_ptr<StreamLife>& stream) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (absl::c_linear_search(streams_, stream)) return;
      streams_.push_back(stream);
      any_.store(true, std::memory_order_release);
      if (streams_.size() < next_look_) return;
      next_look_ = 2 * streams_.size();
    }
    ForgetDone();
  }
  bool any() const { return any_.load(std::memory_order_acquire); }
  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return streams_.size();
  }
  // The streams that were added since the last Take, but for those that are done.
  StreamLives Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    any_.store(false, std::memory_order_relaxed);
    next_look_ = kFirstLook;
    return std::exchange(streams_, {});
  }

 private:
  static constexpr size_t kFirstLook = 16;

  // The device is asked without the lock: it may run work of the host's, which drops tensors.
  void ForgetDone() {
    StreamLives done;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done = streams_;
    }
    const auto is_busy = [](const std::shared_ptr<StreamLife>& stream) {
      if (!stream->has_ended()) return true;
      const absl::StatusOr<bool> is_done = stream->IsDone();
      return !is_done.ok() || !*is_done;
    };
    done.erase(std::remove_if(done.begin(), done.end(), is_busy), done.end());
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_done = [&done](const std::shared_ptr<StreamLife>& stream) {
      return absl::c_linear_search(done, stream);
    };
    streams_.erase(std::remove_if(streams_.begin(), streams_.end(), is_done), streams_.end());
    next_look_ = std::max(kFirstLook, 2 * streams_.size());
  }

  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  StreamLives streams_;             // guarded by mutex_
  size_t next_look_ = kFirstLook;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_STREAM_USERS_H_
