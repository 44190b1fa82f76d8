// Ranges in address order, those that touch or overlap made one.
//
//   |==A==|   |=C=|          |==A==|   |==C+D==|
//               |=D=|   ->
#ifndef GRAPHTREE_ALLOCATOR_JOINED_RANGES_H_
#define GRAPHTREE_ALLOCATOR_JOINED_RANGES_H_

#include <algorithm>
#include <vector>

#include "device/address.h"

namespace graphtree {

inline std::vector<AddressRange> JoinedRanges(std::vector<AddressRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const AddressRange& a, const AddressRange& b) {
    return a.base < b.base;
  });
  std::vector<AddressRange> joined;
  for (const AddressRange& range : ranges) {
    if (!joined.empty() && range.base <= joined.back().end()) {
      joined.back().bytes = std::max(joined.back().end(), range.end()) - joined.back().base;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_JOINED_RANGES_H_
