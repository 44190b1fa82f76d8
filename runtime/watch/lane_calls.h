// Which thread has a call of a lane's under way in its tree; so, who may call the functions of the
// lane's programs there, and who may wait for the lane.
//
// A look into a tree waits for the call that runs there. In a body that could be for ever:
//
//   thread 1, in a body of lane 0    looks at lane 1, whose call ends ...
//   thread 2, in a body of lane 1    ... when its look at lane 0 ends, whose call ends when ...
//
// So a thread that is in a call of some lane of the runtime's waits only for lanes that are in no
// call of another thread (Watch::lanes asks that). What it waits for then has begun after its own
// call, and so on: nobody waits for himself. Of other runtimes' lanes nothing is known.
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
  bool is_mine() const {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // Whether a thread that is in a call of another lane may wait for the call in this one, if any.
  bool may_be_waited_for() const {
    // Of two threads that ask this in a call each, one at least sees the other's call.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return thread_.load(std::memory_order_relaxed) == std::thread::id();
  }

 private:
  std::atomic<std::thread::id> thread_{};
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_LANE_CALLS_H_
