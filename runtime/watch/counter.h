// A number that one thread writes and any thread may read, at the price of a plain number: relaxed
// loads and stores, and no locked instruction. For counts that are made in every step.
//
//   the lane's thread    ++steps        load, add, store: nobody else stores
//   a reader             steps          some number that was there, never a torn one
//
// Which thread writes may change, if something orders the one after the other, such as the taking
// of a lane.
#ifndef GRAPHTREE_RUNTIME_WATCH_COUNTER_H_
#define GRAPHTREE_RUNTIME_WATCH_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace graphtree {

class Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void Add(uint64_t more) { Set(get() + more); }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  Counter& operator++() {
    Add(1);
    return *this;
  }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_COUNTER_H_
