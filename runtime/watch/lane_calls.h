// Which thread has a call of a lane's under way in its tree; so, who may call the functions of the
// lane's programs there, and who may wait for the lane.
//
// A look into a tree waits for the call that runs there. In a body that could be for ever:
//
//   thread 1, in a body of lane 0    looks at lane 1, whose call ends ...
//   thread 2, in a body of lane 1    ... when its look at lane 0 ends, whose call ends when ...
//
// So a thread that is in a call of some lane waits only for lanes that are in no call of another
// thread. What it waits for then has begun after its own call, and so on: nobody waits for himself.
//
// Threads: any. Cost of a call: two stores.
#ifndef GRAPHTREE_RUNTIME_WATCH_LANE_CALLS_H_
#define GRAPHTREE_RUNTIME_WATCH_LANE_CALLS_H_

#include <atomic>
#include <cstdint>
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
      ++calls_of_thread_;
      calls_.thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Calling() {
      calls_.thread_.store(std::thread::id(), std::memory_order_relaxed);
      --calls_of_thread_;
    }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;

   private:
    LaneCalls& calls_;
  };

  // The thread that is in a call; none: no thread has this id.
  const std::atomic<std::thread::id>& thread() const { return thread_; }
  // Whether this thread may wait for the call that runs in the lane, if any.
  bool MayWait() const {
    if (calls_of_thread_ == 0) return true;
    // Of two threads that ask this in a call each, one at least sees the other's call.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::thread::id thread = thread_.load(std::memory_order_relaxed);
    return thread == std::thread::id() || thread == std::this_thread::get_id();
  }

 private:
  static inline thread_local uint32_t calls_of_thread_ = 0;  // of any lane

  std::atomic<std::thread::id> thread_{};
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_LANE_CALLS_H_
