// Frees that other threads ask of a pool while somebody may be in it, and the streams that may
// still use those blocks. They wait here until the pool is called next, and that call does them.
//
//   thread 2   Add(block)   AddUser(stream)               any number of threads
//                  \______________/
//   caller                     Take: notes the streams first, then frees the blocks
//
// Threads: any. Cost for the caller while nothing is queued: one load.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_QUEUED_FREES_H_
#define GRAPHTREE_ALLOCATOR_ORDER_QUEUED_FREES_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "allocator/books/block_record.h"
#include "allocator/order/stream_users.h"
#include "device/stream_life.h"

namespace graphtree {

class QueuedFrees {
 public:
  struct Taken {
    std::vector<BlockId> blocks;
    StreamLives users;
  };

  // False after Stop: nobody calls the pool any more.
  bool Add(BlockId block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_) return false;
    blocks_.push_back(block);
    any_.store(true, std::memory_order_release);
    return true;
  }
  void AddUser(const std::shared_ptr<StreamLife>& stream) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopped_) return;
    }
    users_.Add(stream);
    any_.store(true, std::memory_order_release);
  }
  void Stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }

  bool any() const { return any_.load(std::memory_order_acquire); }
  // The streams alone; the blocks stay queued.
  StreamLives TakeUsers() {
    const std::lock_guard<std::mutex> lock(mutex_);
    any_.store(!blocks_.empty(), std::memory_order_relaxed);
    return users_.Take();
  }
  // Whoever queues a block has named its streams before, so the blocks are taken first.
  Taken Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    any_.store(false, std::memory_order_relaxed);
    Taken taken;
    taken.blocks = std::exchange(blocks_, {});
    taken.users = users_.Take();
    return taken;
  }
  std::vector<BlockId> blocks() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return blocks_;
  }

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  bool stopped_ = false;         // guarded by mutex_
  std::vector<BlockId> blocks_;  // guarded by mutex_
  StreamUsers users_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_QUEUED_FREES_H_
