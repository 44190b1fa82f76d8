// Layout: which bytes of every segment are held, waiting or free, at the end or at any event.
//
// The end is what the blocks say. An earlier moment is reconstructed: segments that came later are
// taken away, ones that went are put back, and between the allocations that were alive lie the
// holes. What a block has beyond its request is not in the history; it is inferred by PyTorch's
// rules (what a split would not have cut off belongs to the block).
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_LAYOUT_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::snapshot {

struct Piece {
  enum State : uint8_t { kFree, kHeld, kPending };
  uint64_t address = 0;
  uint64_t size = 0;
  State state = kFree;
  uint64_t requested = 0;
  StackId stack = 0;
};

struct PlacedSegment {
  int64_t device = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  std::string stream;
  bool pool_known = false;
  std::pair<uint64_t, uint64_t> pool = {0, 0};
  bool small = false;
  bool expandable = false;
  std::vector<Piece> pieces;  // in address order, without gaps

  uint64_t held() const;     // held and pending
  uint64_t free() const { return size - held(); }
  uint64_t largest_hole() const;
};

// In order of device and address.
std::vector<PlacedSegment> LayoutAtEnd(const Snapshot& snapshot, const Side& side);
// After the event of one device's history; kNever: before its first.
std::vector<PlacedSegment> LayoutAfter(const Snapshot& snapshot, const Side& side,
                                       const DeviceHistory& history, uint32_t event);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_LAYOUT_H_
