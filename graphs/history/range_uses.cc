// Cuts pieces where a new one begins and ends.
#include "graphs/history/range_uses.h"

#include <iterator>

namespace graphtree {

void RangeUses::Split(Address at) {
  auto behind = pieces_.lower_bound(at);
  if (behind == pieces_.begin()) return;
  Piece& before = std::prev(behind)->second;
  if (before.end <= at) return;
  pieces_.emplace_hint(behind, at, before);
  before.end = at;
}

void RangeUses::Note(AddressRange range, RangeUse use) {
  if (range.empty()) return;
  if (pieces_.size() >= most_pieces_) pieces_.clear();
  Split(range.base);
  Split(range.end());
  pieces_.erase(pieces_.lower_bound(range.base), pieces_.lower_bound(range.end()));
  use.serial = ++notes_;
  pieces_[range.base] = {range.end(), use};
}

const RangeUse* RangeUses::Find(AddressRange range) const {
  const RangeUse* latest = nullptr;
  auto piece = pieces_.upper_bound(range.base);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->first < range.end(); ++piece) {
    const AddressRange noted = {piece->first, piece->second.end - piece->first};
    if (!noted.Overlaps(range)) continue;
    const RangeUse& use = piece->second.use;
    if (latest == nullptr || use.serial > latest->serial) latest = &use;
  }
  return latest;
}

}  // namespace graphtree
