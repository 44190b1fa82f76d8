// A run: consecutive quanta that are either one live block or free. Runs tile the managed range
// from offset 0 to the end of the last live block, linked in address order; two free runs never
// touch.
#ifndef GRAPHTREE_ALLOCATOR_PLACEMENT_RUN_H_
#define GRAPHTREE_ALLOCATOR_PLACEMENT_RUN_H_

#include <cstdint>

#include "allocator/placement/slab.h"

namespace graphtree {

// The smallest unit of placement, in bytes. 32-bit offsets in quanta reach 2 TiB.
inline constexpr uint64_t kQuantum = 512;

using RunId = uint32_t;

// Which streams may still be using free bytes: one bit for each stream, and the time when the last
// of the bytes were freed, on the clock of order/stream_table.h. Placement carries a LastUse along
// and never looks at it.
struct LastUse {
  uint32_t streams = 0;
  uint32_t time = 0;

  void Merge(LastUse other) {
    streams |= other.streams;
    if (other.time > time) time = other.time;
  }
};

// 32 bytes, so that it lies in one line of the cache and its place is found by a shift.
struct alignas(32) Run {
  static constexpr uint32_t kLiveBit = 0x80000000u;
  static constexpr uint32_t kNoOwner = 0x7fffffffu;

  bool is_live() const { return (role & kLiveBit) != 0; }
  // Which block a live run is, as SetOwner said; kNoOwner before that.
  uint32_t owner() const { return role & ~kLiveBit; }
  uint32_t end() const { return offset + length; }
  uint32_t offset = 0;  // in quanta, like every length here
  uint32_t length = 0;
  RunId previous = kNoId;
  RunId next = kNoId;
  uint32_t role = kLiveBit | kNoOwner;  // of a free run: its position in its class's heap
  LastUse last_use;                     // of a free run
};

using Runs = Slab<Run>;

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_PLACEMENT_RUN_H_
