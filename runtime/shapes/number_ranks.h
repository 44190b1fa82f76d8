// Where a number stands among others, in a few steps whatever their number: keys are looked up
// field by field, in every step of a server.
//
//   numbers          1   2   4   8  16  24  32  40  48  56  64  72  80 ...     ascending
//   buckets         |1 |2 |3 |4 |5 | ... |16,17 |18,19 | ... |32 .. 35 | ...   8 for each doubling
//   from a bucket    the first number that lies in it or behind it: from there on a search without
//                    branches, as long as the fullest bucket wants, which is one step for the sizes
//                    that people use
//
// Pure, and constant after it is made.
#ifndef GRAPHTREE_RUNTIME_SHAPES_NUMBER_RANKS_H_
#define GRAPHTREE_RUNTIME_SHAPES_NUMBER_RANKS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace graphtree {

class NumberRanks {
 public:
  // What may be asked for: more than any number by one.
  static constexpr uint32_t kGreatest = uint32_t{1} << 31;

  NumberRanks() : NumberRanks(absl::Span<const int32_t>()) {}
  // REQUIRES: ascending, without doubles, none negative, fewer than 2^16.
  explicit NumberRanks(absl::Span<const int32_t> numbers);

  uint32_t size() const { return size_; }

  // The place of the first number that is at least `wanted`, or size(). What a call brings is
  // nothing that a processor could foresee, so there is no branch on it.
  // REQUIRES: wanted <= kGreatest.
  uint32_t FirstAtLeast(uint32_t wanted) const {
    const uint32_t* const all = numbers_.data();
    uint32_t place = firsts_[BucketOf(wanted)];
    for (uint32_t step = first_step_; step > 1; step /= 2) {
      place += all[place + step - 1] < wanted ? step : 0;
    }
    return place + (all[place] < wanted ? 1 : 0);
  }
  // The place of that number, or size().
  uint32_t PlaceOf(uint32_t wanted) const {
    const uint32_t place = FirstAtLeast(wanted);
    return numbers_[place] == wanted ? place : size_;
  }

 private:
  static constexpr uint32_t BucketOf(uint32_t number) {
    const uint32_t shift = std::bit_width(number | 8) - 4;
    return shift * 8 + (number >> shift);
  }
  static constexpr size_t kBuckets = 28 * 8 + 8 + 1;  // kGreatest is in the last one

  std::array<uint16_t, kBuckets> firsts_;
  uint32_t size_;
  uint32_t first_step_;  // a power of two
  // Behind them so many of the greatest value that a search stays inside.
  std::vector<uint32_t> numbers_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_NUMBER_RANKS_H_
