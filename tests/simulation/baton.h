// Lets several threads run one at a time, in an order that a seed picks: each runs from one Pass to
// the next, so the same seed gives the same interleaving.
//
//   thread 0   ---Pass             ---Pass
//   thread 1          ----Pass            --Leave
//   thread 2                   ---
#ifndef GRAPHTREE_TESTS_SIMULATION_BATON_H_
#define GRAPHTREE_TESTS_SIMULATION_BATON_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

namespace graphtree::simulation {

class Baton {
 public:
  Baton(uint32_t seed, uint32_t threads) : random_(seed) {
    for (uint32_t t = 0; t < threads; ++t) running_.push_back(t);
    turn_ = running_[random_() % threads];
  }

  // At the beginning of thread `me`.
  void Await(uint32_t me) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == me; });
  }
  // Somebody goes on, perhaps the caller itself. REQUIRES: it is the caller's turn.
  void Pass(uint32_t me) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      turn_ = running_[random_() % running_.size()];
      if (turn_ == me) return;
    }
    changed_.notify_all();
    Await(me);
  }
  // The caller has ended.
  void Leave(uint32_t me) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      running_.erase(std::find(running_.begin(), running_.end(), me));
      if (!running_.empty()) turn_ = running_[random_() % running_.size()];
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937 random_;
  std::vector<uint32_t> running_;
  uint32_t turn_ = 0;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_BATON_H_
