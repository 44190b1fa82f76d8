// Intersections and differences of ranges.
#include "graphs/memory/spoilt_ranges.h"

#include <algorithm>

namespace graphtree {
namespace {

AddressRange Common(AddressRange a, AddressRange b) {
  const Address base = std::max(a.base, b.base);
  const Address end = std::min(a.end(), b.end());
  return base < end ? AddressRange{base, end - base} : AddressRange{};
}

// `ranges` without `gone`.
std::vector<AddressRange> Without(const std::vector<AddressRange>& ranges, AddressRange gone) {
  std::vector<AddressRange> left;
  for (const AddressRange range : ranges) {
    if (!range.Overlaps(gone)) {
      left.push_back(range);
      continue;
    }
    if (range.base < gone.base) left.push_back({range.base, gone.base - range.base});
    if (gone.end() < range.end()) left.push_back({gone.end(), range.end() - gone.end()});
  }
  return left;
}

}  // namespace

std::vector<AddressRange> SpoiltRanges::Written(AddressRange range, bool is_trees_tensor) {
  std::vector<AddressRange> seen;
  if (own_.Overlaps(range) || (lent_.Overlaps(range) && !is_trees_tensor)) {
    for (const AddressRange shown : shown_) seen.push_back(Common(shown, range));
  } else {
    seen.push_back(range);
  }
  std::vector<AddressRange> parts;
  for (const AddressRange one : seen) {
    std::vector<AddressRange> fresh = {one};
    for (const AddressRange told : told_) fresh = Without(fresh, told);
    for (const AddressRange part : fresh) {
      if (part.empty()) continue;
      parts.push_back(part);
      told_.push_back(part);
    }
  }
  return parts;
}

}  // namespace graphtree
