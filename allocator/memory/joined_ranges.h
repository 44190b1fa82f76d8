// Sorts ranges by address and joins those that overlap; JoinedRanges joins those that touch, too.
//
//   |==A==|   |=C=||=E=|        OverlapsJoined   |==A==|   |=C+D=||=E=|
//               |=D|      ->    JoinedRanges     |==A==|   |==C+D+E===|
#ifndef GRAPHTREE_ALLOCATOR_MEMORY_JOINED_RANGES_H_
#define GRAPHTREE_ALLOCATOR_MEMORY_JOINED_RANGES_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "device/address.h"

namespace graphtree {

// With `touching`, ranges that touch are joined, too; without, ranges of no bytes are left out.
inline std::vector<AddressRange> Joined(std::vector<AddressRange> ranges, bool touching) {
  std::sort(ranges.begin(), ranges.end(), [](const AddressRange& a, const AddressRange& b) {
    return a.base < b.base;
  });
  std::vector<AddressRange> joined;
  for (const AddressRange& range : ranges) {
    if (range.empty() && !touching) continue;
    const Address reach = joined.empty() ? 0 : joined.back().end() + (touching ? 1 : 0);
    if (!joined.empty() && range.base < reach) {
      joined.back().bytes = std::max(joined.back().end(), range.end()) - joined.back().base;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

inline std::vector<AddressRange> JoinedRanges(std::vector<AddressRange> ranges) {
  return Joined(std::move(ranges), true);
}

inline std::vector<AddressRange> OverlapsJoined(std::vector<AddressRange> ranges) {
  return Joined(std::move(ranges), false);
}

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_MEMORY_JOINED_RANGES_H_
