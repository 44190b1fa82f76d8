// A tree's nodes, as the tree hands them over for a snapshot: plain values, so that the pool writes
// them down without knowing what a tree is.
//
//   addresses   |aaaaaaaaaaaa|bbbbbb|. . . .|      ranges: what a node's recording allocated
//                decode 0     greedy 1             outputs: parts of it that are handed out
//               |aaaa|                             blocks: those that the recording left live
//
// The snapshot has them as the list "nodes" under "graphtree" (reports/snapshot_nodes_writer.h),
// and names each live block's node and function (pool_snapshot.cc).
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_NODES_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_NODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/ids.h"
#include "device/address.h"

namespace graphtree {

struct SnapshotOutput {
  uint32_t output = 0;     // its number among the function's outputs
  AddressRange range;
  uint64_t handles = 0;    // outside the tree; 0: the output is dead
  BlockId block;           // in the books
};

// Where a node is, seen from the path in force.
enum class NodeState : uint8_t { kIdle, kOnPath, kRanLast };

struct SnapshotNode {
  uint64_t id = 0;
  int64_t parent = -1;  // the parent's id; -1 for a root
  uint32_t level = 0;
  std::string function;
  std::string inputs;   // tell this recording from its function's others
  NodeState state = NodeState::kIdle;
  uint64_t replays = 0;
  uint64_t executable_bytes = 0;
  std::vector<AddressRange> ranges;
  std::vector<SnapshotOutput> outputs;
  std::vector<BlockId> blocks;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_NODES_H_
