// InOrder: puts what comes about in order into order, through a window of fixed size.
//
//   comes    3 1 2 5 4 7 6        window of 3        leaves   1 2 3 4 5 6 7
//
// What is further out of order than the window is wide leaves out of order. Not safe for concurrent
// use. A value costs a few compares.
#ifndef GRAPHTREE_PROFILER_STATS_IN_ORDER_H_
#define GRAPHTREE_PROFILER_STATS_IN_ORDER_H_

#include <algorithm>
#include <cstddef>

namespace graphtree::trace {

// `Value` has start_ns. Of two that begin together the one that came first leaves first.
template <typename Value, size_t kWindow>
class InOrder {
 public:
  // True where the window was full; then `leaves` is the earliest.
  bool Push(const Value& value, Value& leaves) {
    size_t at = size_;
    while (at > 0 && values_[at - 1].start_ns > value.start_ns) --at;
    if (size_ < kWindow) {
      std::copy_backward(values_ + at, values_ + size_, values_ + size_ + 1);
      values_[at] = value;
      ++size_;
      return false;
    }
    if (at == 0) {
      leaves = value;
      return true;
    }
    leaves = values_[0];
    std::copy(values_ + 1, values_ + at, values_);
    values_[at - 1] = value;
    return true;
  }
  // False where nothing is left.
  bool Pop(Value& leaves) {
    if (size_ == 0) return false;
    leaves = values_[0];
    std::copy(values_ + 1, values_ + size_, values_);
    --size_;
    return true;
  }

 private:
  Value values_[kWindow] = {};
  size_t size_ = 0;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_IN_ORDER_H_
