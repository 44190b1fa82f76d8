// Counts what is in the buckets.
#include "runtime/shapes/number_ranks.h"

#include <algorithm>
#include <limits>

#include "device/base/check.h"

namespace graphtree {

NumberRanks::NumberRanks(absl::Span<const int32_t> numbers)
    : size_(static_cast<uint32_t>(numbers.size())),
      first_step_(1),
      numbers_(numbers.begin(), numbers.end()) {
  static_assert(BucketOf(kGreatest) + 1 == kBuckets);
  GRAPHTREE_CHECK(numbers.size() < (size_t{1} << 16)) << numbers.size() << " numbers to rank";
  std::array<uint32_t, kBuckets> counts = {};
  for (const uint32_t number : numbers_) ++counts[BucketOf(number)];
  uint32_t before = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    firsts_[bucket] = static_cast<uint16_t>(before);
    before += counts[bucket];
  }
  // Steps of 4, 2 and 1 find the place among 7 numbers.
  first_step_ = std::bit_floor(std::max(1u, *std::max_element(counts.begin(), counts.end())));
  numbers_.resize(size_ + 2 * first_step_ + 1, std::numeric_limits<uint32_t>::max());
}

}  // namespace graphtree
