// A list of address ranges that every replay asks about, and that a call's inputs hardly ever
// overlap.
//
//   added   |==|   |====|  |=|          touching ones are joined
//   hull    |================|          a range outside of it is answered by two comparisons
//
// Pure. Cost: Overlaps is a binary search inside the hull; Add moves the ranges at higher
// addresses.
#ifndef GRAPHTREE_GRAPHS_INPUTS_RANGE_LIST_H_
#define GRAPHTREE_GRAPHS_INPUTS_RANGE_LIST_H_

#include <algorithm>
#include <vector>

#include "device/address.h"

namespace graphtree {

class RangeList {
 public:
  void Add(AddressRange range) {
    if (range.empty()) return;
    const auto first = FirstEndingAtOrBehind(range.base);
    auto behind = first;
    for (; behind != ranges_.end() && behind->base <= range.end(); ++behind) {
      const Address end = std::max(range.end(), behind->end());
      range.base = std::min(range.base, behind->base);
      range.bytes = end - range.base;
    }
    ranges_.insert(ranges_.erase(first, behind), range);
  }

  bool Overlaps(AddressRange range) const {
    if (ranges_.empty() || range.empty()) return false;
    if (range.base >= ranges_.back().end() || range.end() <= ranges_.front().base) return false;
    for (auto at = FirstEndingAtOrBehind(range.base); at != ranges_.end(); ++at) {
      if (at->base >= range.end()) return false;
      if (at->Overlaps(range)) return true;
    }
    return false;
  }

  bool empty() const { return ranges_.empty(); }
  const std::vector<AddressRange>& ranges() const { return ranges_; }

 private:
  std::vector<AddressRange>::const_iterator FirstEndingAtOrBehind(Address address) const {
    return std::partition_point(ranges_.begin(), ranges_.end(), [address](const AddressRange& one) {
      return one.end() < address;
    });
  }

  std::vector<AddressRange> ranges_;  // in address order, apart from each other
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_RANGE_LIST_H_
