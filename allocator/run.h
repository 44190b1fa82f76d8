// A run: consecutive quanta that are either one live block or free. Runs tile the managed range from
// offset 0 to the end of the last live block, linked in address order; two free runs never touch.
#ifndef GRAPHTREE_ALLOCATOR_RUN_H_
#define GRAPHTREE_ALLOCATOR_RUN_H_

#include <cstdint>

#include "allocator/slab.h"

namespace graphtree {

// The smallest unit of placement, in bytes. 32-bit offsets in quanta reach 2 TiB.
inline constexpr uint64_t kQuantum = 512;

using RunId = uint32_t;

struct Run {
  static constexpr uint32_t kLive = 0xffffffffu;

  bool is_live() const { return heap_position == kLive; }
  uint32_t end() const { return offset + length; }

  uint32_t offset = 0;  // in quanta, like every length here
  uint32_t length = 0;
  RunId previous = kNoId;
  RunId next = kNoId;
  uint32_t heap_position = kLive;  // of a free run, in its class's heap
};

using Runs = Slab<Run>;

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_RUN_H_
