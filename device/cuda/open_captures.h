// Which captures were begun through this device and have not ended: a set of the ids that CUDA
// gives them. A stream that joined one of these captures by an event finds the capture here by id.
//
// Threads: safe from all. The count is one load.
#ifndef GRAPHTREE_DEVICE_CUDA_OPEN_CAPTURES_H_
#define GRAPHTREE_DEVICE_CUDA_OPEN_CAPTURES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace graphtree {

class OpenCaptures {
 public:
  void Begun(uint64_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    ids_.push_back(id);
    count_.store(static_cast<int>(ids_.size()), std::memory_order_release);
  }
  void Ended(uint64_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    ids_.erase(std::remove(ids_.begin(), ids_.end(), id), ids_.end());
    count_.store(static_cast<int>(ids_.size()), std::memory_order_release);
  }
  bool Contains(uint64_t id) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
  }
  int count() const { return count_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  std::vector<uint64_t> ids_;
  std::atomic<int> count_{0};
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_OPEN_CAPTURES_H_
