// The names that a pool's callers use: of blocks, of checkpoints, and of the two regions of its
// addresses.
#ifndef GRAPHTREE_ALLOCATOR_IDS_H_
#define GRAPHTREE_ALLOCATOR_IDS_H_

#include <cstdint>

namespace graphtree {

// An index that names nothing.
inline constexpr uint32_t kNoId = 0xffffffffu;

// Names a block. Stale once the block is freed and no checkpoint remembers it.
struct BlockId {
  uint32_t index = kNoId;
  uint32_t generation = 0;

  friend bool operator==(BlockId a, BlockId b) {
    return a.index == b.index && a.generation == b.generation;
  }
};

// Names a checkpoint. `pool` tells the pools of a process apart.
struct CheckpointId {
  uint32_t index = kNoId;
  uint32_t generation = 0;
  uint64_t pool = 0;

  friend bool operator==(CheckpointId a, CheckpointId b) {
    return a.index == b.index && a.generation == b.generation && a.pool == b.pool;
  }
};

enum class Region : uint8_t {
  kStep,     // restoring a checkpoint changes which blocks are live here
  kLasting,  // no restore touches this region
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_IDS_H_
