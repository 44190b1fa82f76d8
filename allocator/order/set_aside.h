// Free bytes that are known by their ranges, as they were freed while another stream was at work
// than those that may still use them. Free bytes that touch are joined and share one LastUse. While
// a capture has one of those streams nobody can wait for it: with these bytes in it, all of the
// joined bytes would be out of reach.
//
//   | free ............ | set aside: bit 3 | free ... |     one run of free bytes
//     may be had            not while another capture has stream 3
//
// Pure. Cost: a scan of the ranges, of which there are few; more than kMost are not kept.
#ifndef GRAPHTREE_ALLOCATOR_ORDER_SET_ASIDE_H_
#define GRAPHTREE_ALLOCATOR_ORDER_SET_ASIDE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace graphtree {

// In quanta, like placement.
struct Quanta {
  uint32_t begin = 0;
  uint32_t end = 0;
};

class SetAside {
 public:
  static constexpr size_t kMost = 64;

  // False if there are too many: the bit's bytes are to be treated as all others then.
  bool Add(uint32_t number, Quanta quanta) {
    if (ranges_.size() == kMost) return false;
    ranges_.push_back({number, quanta});
    bits_ |= 1u << number;
    return true;
  }
  // Puts these ranges in the place of all that the number has. False if there are too many: then
  // nothing changes.
  bool Replace(uint32_t number, absl::Span<const Quanta> quanta) {
    const auto own = std::count_if(ranges_.begin(), ranges_.end(), [number](const Range& range) {
      return range.number == number;
    });
    if (ranges_.size() - static_cast<size_t>(own) + quanta.size() > kMost) return false;
    Drop(number);
    for (const Quanta range : quanta) Add(number, range);
    return true;
  }
  void Drop(uint32_t number) {
    std::erase_if(ranges_, [number](const Range& range) { return range.number == number; });
    bits_ &= ~(1u << number);
  }
  // Of streams for which there are ranges.
  uint32_t bits() const { return bits_; }
  // The greatest end of ranges that overlap; 0: there are none.
  uint32_t EndOfOverlap(Quanta quanta) const {
    uint32_t end = 0;
    for (const Range& range : ranges_) {
      const bool overlaps = range.quanta.begin < quanta.end && quanta.begin < range.quanta.end;
      if (overlaps) end = std::max(end, range.quanta.end);
    }
    return end;
  }

 private:
  struct Range {
    uint32_t number;
    Quanta quanta;
  };

  std::vector<Range> ranges_;
  uint32_t bits_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_ORDER_SET_ASIDE_H_
