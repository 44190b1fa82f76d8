// What a snapshot tells of a tree's nodes, as the tree hands it over: plain values, so that the
// pool writes them down without knowing what a tree is.
//
//   addresses   |aaaaaaaaaaaa|bbbbbb|. . . .|      ranges: what a node's recording allocated
//                decode 0     greedy 1             outputs: parts of it that are handed out
//               |aaaa|                             blocks: what of it is live at the end of that
//
// Into the snapshot it goes as the list "nodes" under "graphtree", and as "node" and "function" on
// the live blocks (pool_snapshot_nodes.h).
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_NODES_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_NODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/ids.h"
#include "device/address.h"

namespace graphtree {

struct SnapshotOutput {
  uint32_t output = 0;     // its number among the function's
  AddressRange range;
  uint64_t handles = 0;    // outside the tree; 0: it is dead
  BlockId block;           // in the books
};

// Where a node is, seen from the path in force.
enum class NodeState : uint8_t { kIdle, kOnPath, kRanLast };

struct SnapshotNode {
  uint64_t id = 0;
  int64_t parent = -1;  // its id; -1 for a root
  uint32_t level = 0;
  std::string function;
  std::string inputs;   // what tells it from its function's other recordings
  NodeState state = NodeState::kIdle;
  uint64_t replays = 0;
  uint64_t executable_bytes = 0;
  std::vector<AddressRange> ranges;
  std::vector<SnapshotOutput> outputs;
  std::vector<BlockId> blocks;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_NODES_H_
