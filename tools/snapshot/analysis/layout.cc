// Blocks as pieces, and the walk back from the end.
#include "tools/snapshot/analysis/layout.h"

#include <algorithm>
#include <map>

#include "tools/snapshot/analysis/torch_rules.h"

namespace graphtree::snapshot {
namespace {

PlacedSegment Placed(const Snapshot& snapshot, const Segment& segment) {
  PlacedSegment placed;
  placed.device = segment.device;
  placed.address = segment.address;
  placed.size = segment.total_size;
  placed.stream = IntegerText(snapshot.values, segment.stream);
  placed.pool_known = segment.pool != kNoId;
  placed.pool = snapshot.Pool(segment.pool);
  placed.small = segment.type == words::kSmall;
  placed.expandable = segment.expandable;
  return placed;
}

bool InOrder(const PlacedSegment& a, const PlacedSegment& b) {
  return std::pair(a.device, a.address) < std::pair(b.device, b.address);
}

// Mapped memory as ranges that can be cut, keyed by address.
class Ranges {
 public:
  void Add(PlacedSegment range) { ranges_[range.address] = std::move(range); }

  // Takes [address, address + size) away; what lies on either side stays.
  void Cut(uint64_t address, uint64_t size) {
    const uint64_t end = address + size;
    auto at = ranges_.upper_bound(address);
    if (at != ranges_.begin()) --at;
    while (at != ranges_.end() && at->first < end) {
      PlacedSegment range = at->second;
      const uint64_t range_end = range.address + range.size;
      if (range_end <= address) {
        ++at;
        continue;
      }
      at = ranges_.erase(at);
      if (range_end > end) {
        PlacedSegment tail = range;
        tail.address = end;
        tail.size = range_end - end;
        ranges_[end] = tail;
      }
      if (range.address < address) {
        range.size = address - range.address;
        ranges_[range.address] = range;
      }
    }
  }

  // Pages of expandable segments that touch and belong together are one segment.
  std::vector<PlacedSegment> Joined() const {
    std::vector<PlacedSegment> joined;
    for (const auto& [address, range] : ranges_) {
      PlacedSegment* last = joined.empty() ? nullptr : &joined.back();
      if (last != nullptr && last->expandable && range.expandable &&
          last->address + last->size == address && last->stream == range.stream) {
        last->size += range.size;
      } else {
        joined.push_back(range);
      }
    }
    return joined;
  }

 private:
  std::map<uint64_t, PlacedSegment> ranges_;
};

// The segment that an entry about one describes.
PlacedSegment FromEntry(const Snapshot& snapshot, const DeviceHistory& history,
                        const TraceEntry& entry) {
  PlacedSegment placed;
  placed.device = history.device;
  placed.address = entry.addr;
  placed.size = entry.size;
  placed.stream = IntegerText(snapshot.values, snapshot.details[entry.details].stream);
  placed.pool_known = entry.pool != kNoId;
  placed.pool = snapshot.Pool(entry.pool);
  placed.small = entry.size == torch_rules::kSmallSegment;
  placed.expandable = entry.action == words::kSegmentUnmap;
  return placed;
}

void AddPiece(PlacedSegment& segment, const Piece& piece) {
  const uint64_t from = segment.pieces.empty()
                            ? segment.address
                            : segment.pieces.back().address + segment.pieces.back().size;
  if (piece.address < from) return;  // overlaps what is there: the history is not whole
  if (piece.address > from) segment.pieces.push_back({from, piece.address - from});
  segment.pieces.push_back(piece);
}

// Gives to blocks what a split would have left with them, and closes the segment with a hole.
void Complete(PlacedSegment& segment) {
  AddPiece(segment, {segment.address + segment.size, 0});
  segment.pieces.pop_back();
  std::vector<Piece> whole;
  for (const Piece& piece : segment.pieces) {
    const bool after_block = !whole.empty() && whole.back().state != Piece::kFree;
    if (piece.state == Piece::kFree && after_block &&
        !torch_rules::Splits(piece.size, segment.small, segment.expandable)) {
      whole.back().size += piece.size;
    } else {
      whole.push_back(piece);
    }
  }
  segment.pieces = std::move(whole);
}

Ranges RangesAfter(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
                   uint32_t event) {
  Ranges ranges;
  for (const uint32_t row : history.segments) ranges.Add(Placed(snapshot, side.segments[row]));
  const uint32_t first = event == kNever ? 0 : event + 1;
  for (uint32_t later = static_cast<uint32_t>(history.rows.size()); later-- > first;) {
    const TraceEntry& entry = history.Entry(snapshot, later);
    if (entry.action == words::kSegmentAlloc || entry.action == words::kSegmentMap) {
      ranges.Cut(entry.addr, entry.size);
    } else if (entry.action == words::kSegmentFree || entry.action == words::kSegmentUnmap) {
      ranges.Add(FromEntry(snapshot, history, entry));
    }
  }
  return ranges;
}

std::vector<Piece> PiecesAfter(const Snapshot& snapshot, const DeviceHistory& history,
                               uint32_t event) {
  std::vector<Piece> pieces;
  for (const Allocation& life : history.allocations) {
    const bool born = life.born == kNever || (event != kNever && life.born <= event);
    const bool gone = event != kNever && life.gone != kNever && life.gone <= event;
    if (!born || gone) continue;
    Piece piece;
    piece.address = life.address;
    piece.size = life.block != kNever ? snapshot.blocks[life.block].size
                                      : torch_rules::BlockSize(life.size);
    piece.state = life.AliveAfter(event) ? Piece::kHeld : Piece::kPending;
    piece.requested = life.size;
    piece.stack = life.stack;
    pieces.push_back(piece);
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.address < b.address; });
  return pieces;
}

}  // namespace

uint64_t PlacedSegment::held() const {
  uint64_t held = 0;
  for (const Piece& piece : pieces) held += piece.state == Piece::kFree ? 0 : piece.size;
  return held;
}

uint64_t PlacedSegment::largest_hole() const {
  uint64_t largest = 0;
  for (const Piece& piece : pieces) {
    if (piece.state == Piece::kFree) largest = std::max(largest, piece.size);
  }
  return largest;
}

std::vector<PlacedSegment> LayoutAtEnd(const Snapshot& snapshot, const Side& side) {
  std::vector<PlacedSegment> layout;
  for (const Segment& segment : side.segments) {
    layout.push_back(Placed(snapshot, segment));
    for (const Block& block : snapshot.BlocksOf(segment)) {
      const Piece::State state = block.allocated() ? Piece::kHeld
                                 : block.pending() ? Piece::kPending
                                                   : Piece::kFree;
      layout.back().pieces.push_back(
          {block.address, block.size, state, block.requested_size, block.stack});
    }
  }
  std::stable_sort(layout.begin(), layout.end(), InOrder);
  return layout;
}

std::vector<PlacedSegment> LayoutAfter(const Snapshot& snapshot, const Side& side,
                                       const DeviceHistory& history, uint32_t event) {
  std::vector<PlacedSegment> layout = RangesAfter(snapshot, side, history, event).Joined();
  const std::vector<Piece> pieces = PiecesAfter(snapshot, history, event);
  size_t next = 0;
  for (PlacedSegment& segment : layout) {
    while (next < pieces.size() && pieces[next].address < segment.address) ++next;
    while (next < pieces.size() && pieces[next].address - segment.address < segment.size) {
      AddPiece(segment, pieces[next++]);
    }
    Complete(segment);
  }
  return layout;
}

}  // namespace graphtree::snapshot
