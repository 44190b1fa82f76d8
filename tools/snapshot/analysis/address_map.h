// AddressMap: which segment of a device covers an address.
//
// A sorted list of ranges; one binary search per question, and none where the last answer still
// fits, as it does for most neighbouring entries of a trace.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_ADDRESS_MAP_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_ADDRESS_MAP_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

// The rows of each device's segments, in one pass: a file may name as many devices as segments.
inline std::map<int64_t, std::vector<uint32_t>> SegmentsByDevice(const Side& side) {
  std::map<int64_t, std::vector<uint32_t>> rows;
  for (uint32_t row = 0; row < side.segments.size(); ++row) {
    rows[side.segments[row].device].push_back(row);
  }
  return rows;
}

class AddressMap {
 public:
  // Of these rows of the side's segments.
  AddressMap(const Side& side, const std::vector<uint32_t>& rows) {
    for (const uint32_t row : rows) segments_.push_back(&side.segments[row]);
    std::stable_sort(segments_.begin(), segments_.end(),
                     [](const Segment* a, const Segment* b) { return a->address < b->address; });
  }

  // Null where no segment covers the address.
  const Segment* Find(uint64_t address) const {
    if (last_ != nullptr && Covers(*last_, address)) return last_;
    auto after = std::upper_bound(
        segments_.begin(), segments_.end(), address,
        [](uint64_t wanted, const Segment* segment) { return wanted < segment->address; });
    if (after == segments_.begin() || !Covers(**(after - 1), address)) return nullptr;
    return last_ = *(after - 1);
  }

  const std::vector<const Segment*>& segments() const { return segments_; }

 private:
  static bool Covers(const Segment& segment, uint64_t address) {
    return address >= segment.address && address - segment.address < segment.total_size;
  }

  std::vector<const Segment*> segments_;
  mutable const Segment* last_ = nullptr;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_ADDRESS_MAP_H_
