// Which memory each recording of a tree uses, and which of its outputs are held: what a snapshot
// of the pool says about the tree (allocator/snapshot_nodes.h).
//
//   root --- decode 0 ---+-- greedy 1    ranges come from the recordings, so they are known
//                        +-- sampled 2   whatever the books show; handles come from the path in
//                                        force, so they are true after replays, too
//
// The result is a copy, like an outline. Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RECORDING_NODE_MEMORY_H_
#define GRAPHTREE_GRAPHS_RECORDING_NODE_MEMORY_H_

#include <vector>

#include "allocator/snapshot_nodes.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"

namespace graphtree {

// Parents come before their children. Only outputs in the node's own memory are listed: a kept
// output has a place of its own for every run, outside of the node.
std::vector<SnapshotNode> NodeMemoryOf(const Node& root, const Path& path);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_NODE_MEMORY_H_
