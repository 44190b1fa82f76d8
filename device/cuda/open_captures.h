// Which captures were begun through this device and have not ended: a set of the ids that CUDA
// gives them. A stream that joined one of these captures by an event finds the capture here by id,
// and adds what the graph will need for as long as it is there: events that it sets.
//
// Threads: safe from all. The count is one load.
#ifndef GRAPHTREE_DEVICE_CUDA_OPEN_CAPTURES_H_
#define GRAPHTREE_DEVICE_CUDA_OPEN_CAPTURES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace graphtree {

// Objects that outlive a graph and its executables.
using KeptByGraph = std::vector<std::shared_ptr<const void>>;

class OpenCaptures {
 public:
  void Begun(uint64_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back({id, {}});
    count_.store(static_cast<int>(open_.size()), std::memory_order_release);
  }
  // Returns what was kept for its graph.
  KeptByGraph Ended(uint64_t id) {
    KeptByGraph kept;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = Find(id);
    if (found == open_.end()) return kept;
    kept = std::move(found->kept);
    open_.erase(found);
    count_.store(static_cast<int>(open_.size()), std::memory_order_release);
    return kept;
  }
  bool Contains(uint64_t id) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(open_.begin(), open_.end(), [id](const Open& one) { return one.id == id; });
  }
  // Does nothing for a capture that was not begun through this device.
  void Keep(uint64_t id, std::shared_ptr<const void> object) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = Find(id);
    if (found != open_.end()) found->kept.push_back(std::move(object));
  }
  int count() const { return count_.load(std::memory_order_acquire); }

 private:
  struct Open {
    uint64_t id;
    KeptByGraph kept;
  };
  // With the lock.
  std::vector<Open>::iterator Find(uint64_t id) {
    return std::find_if(open_.begin(), open_.end(), [id](const Open& one) { return one.id == id; });
  }

  mutable std::mutex mutex_;
  std::vector<Open> open_;
  std::atomic<int> count_{0};
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_OPEN_CAPTURES_H_
