// Which memory each recording of a tree uses, and which of its outputs are held: what a snapshot
// of the pool says about the tree (allocator/snapshot_nodes.h).
//
//   root --- decode 0 ---+-- greedy 1    ranges from the recordings, so they are known whatever
//                        +-- sampled 2   the books show; handles from the path in force, so they
//                                        are true behind replays too
//
// Copied out, like an outline. Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RECORDING_NODE_MEMORY_H_
#define GRAPHTREE_GRAPHS_RECORDING_NODE_MEMORY_H_

#include <vector>

#include "allocator/snapshot_nodes.h"
#include "graphs/recording/node.h"
#include "graphs/recording/path.h"

namespace graphtree {

// Parents come before their children. Outputs are those with memory of the node's own; one that is
// kept has a place for every run, outside the node, and is not among them.
std::vector<SnapshotNode> NodeMemoryOf(const Node& root, const Path& path);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_NODE_MEMORY_H_
