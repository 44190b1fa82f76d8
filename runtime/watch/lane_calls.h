// Which thread has a step of a lane's under way in its tree: it, and no other one that has the
// tree, may call the functions of the lane's programs there. Who may wait for a lane the tree is
// asked, as others have it, too (Tree::IsInside).
//
// Threads: any. Cost of a call: two stores.
#ifndef GRAPHTREE_RUNTIME_WATCH_LANE_CALLS_H_
#define GRAPHTREE_RUNTIME_WATCH_LANE_CALLS_H_

#include <atomic>
#include <thread>

namespace graphtree {

class LaneCalls {
 public:
  LaneCalls() = default;
  LaneCalls(const LaneCalls&) = delete;
  LaneCalls& operator=(const LaneCalls&) = delete;

  // Lives while a call is under way on this thread.
  class Calling {
   public:
    explicit Calling(LaneCalls& calls) : calls_(calls) {
      calls_.thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Calling() { calls_.thread_.store(std::thread::id(), std::memory_order_relaxed); }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

   private:
    LaneCalls& calls_;
  };

  // The thread that is in a call; none: no thread has this id.
  const std::atomic<std::thread::id>& thread() const { return thread_; }

 private:
  std::atomic<std::thread::id> thread_{};
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_LANE_CALLS_H_
