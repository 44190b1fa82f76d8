// AddressMap: which segment of a device covers an address.
//
// A sorted list of ranges; one binary search per question, and none where the last answer still
// fits, as it does for most neighbouring entries of a trace.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_ANALYSIS_ADDRESS_MAP_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_ANALYSIS_ADDRESS_MAP_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

class AddressMap {
 public:
  AddressMap(const Side& side, int64_t device) {
    for (const Segment& segment : side.segments) {
      if (segment.device == device) segments_.push_back(&segment);
    }
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

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_ANALYSIS_ADDRESS_MAP_H_
