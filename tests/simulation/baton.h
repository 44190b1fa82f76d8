// Lets several threads run one at a time, in an order that whoever has the turn decides: each runs
// until it gives the turn away, so the same decisions give the same interleaving.
//
//   thread 0   ---Pass(1)             ---Pass(2)                  --Leave
//   thread 1             ----Pass(0)                       --Leave
//   thread 2                                    ---Leave             (the lowest goes on)
//
// Thread 0 begins.
#ifndef GRAPHTREE_TESTS_SIMULATION_BATON_H_
#define GRAPHTREE_TESTS_SIMULATION_BATON_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace graphtree::simulation {

class Baton {
 public:
  explicit Baton(uint32_t threads) : changed_(threads), running_(threads, true) {}

  // At the beginning of thread `me`.
  void Await(uint32_t me) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_[me].wait(lock, [&] { return turn_ == me; });
  }
  // `next` goes on: perhaps the caller itself, as it does if `next` has left. REQUIRES: it is the
  // caller's turn.
  void Pass(uint32_t me, uint32_t next) {
    if (next == me) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!running_[next]) return;
      turn_ = next;
    }
    changed_[next].notify_one();
    Await(me);
  }
  // The caller has ended.
  void Leave(uint32_t me) {
    uint32_t next = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      running_[me] = false;
      while (next < running_.size() && !running_[next]) ++next;
      if (next == running_.size()) return;
      turn_ = next;
    }
    changed_[next].notify_one();
  }

 private:
  std::mutex mutex_;
  std::vector<std::condition_variable> changed_;  // by thread
  std::vector<char> running_;
  uint32_t turn_ = 0;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_BATON_H_
