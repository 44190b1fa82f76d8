// Which stream has waited for which other one, and when.
//
//                     awaited
//               A     B     C
//   waiter  A   .     3     0     A has waited for B at time 3, and never for C
//           B   4     .     2
//
// Who waits for a stream has waited for all that this stream has waited for. An edge inside a
// capture is no wait outside of it, nor in the next capture, so a capture has a matrix of its own.
//
// Threads: none of its own.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_WAITS_H_
#define GRAPHTREE_ALLOCATOR_ORDER_WAITS_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "allocator/order/use_times.h"

namespace graphtree {

class Waits {
 public:
  static constexpr uint32_t kMost = UseTimes::kMostNumbers;
  // [waiter][awaited]: the clock just after the last wait; 0: none.
  using Matrix = std::array<std::array<uint32_t, kMost>, kMost>;

  uint32_t At(uint32_t waiter, uint32_t awaited) const { return outside_[waiter][awaited]; }
  void Set(uint32_t waiter, uint32_t awaited, uint32_t time) { outside_[waiter][awaited] = time; }
  // Those of the capture; 0: outside of all.
  Matrix& In(uint64_t capture) {
    if (capture == 0) return outside_;
    if (capture_ != capture) {
      inside_ = {};
      capture_ = capture;
    }
    return inside_;
  }
  void Inherit(uint32_t waiter, uint32_t awaited) {
    for (uint32_t i = 0; i < kMost; ++i) {
      outside_[waiter][i] = std::max(outside_[waiter][i], outside_[awaited][i]);
    }
  }
  // The bit means another stream now, which has waited for nobody.
  void Forget(uint32_t waiter) {
    outside_[waiter].fill(0);
    inside_[waiter].fill(0);
  }

 private:
  Matrix outside_ = {};
  Matrix inside_ = {};  // by edges of the capture `capture_`
  uint64_t capture_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_WAITS_H_
