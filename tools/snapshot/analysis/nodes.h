// Nodes: a snapshot of ours by tree node, whose memory it is, what it shares, who holds its
// outputs.
//
// What is read, all of it beside PyTorch's keys:
//
//   block     "node": text or number, "function": text       who allocated a live block
//   segment   "parked": true                                 its memory is given back for now
//   graphtree "parked_ranges": [ [address, bytes], ... ]     the same to the byte, if it is there
//   graphtree "nodes": [ { "id", "parent", "function", "inputs", "state", "replays",
//                          "executable_bytes",
//                          "ranges":  [ [address, bytes], ... ]   all that was allocated while it
//                                                                 was recorded, live now or not
//                          "outputs": [ { "output", "address", "bytes", "alive", "handles",
//                                         "holder" }, ... ] } ]
//
// Siblings of a tree use the same addresses one after the other. A byte that the ranges of several
// nodes cover is *shared*, one that only one covers is that node's *alone*: what forgetting the
// node would give back. Without "nodes" only live blocks are known, by their "node".
//
// A replay changes no books, so an output of one may be alive without a block that says so: it is
// counted as live all the same, once.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_NODES_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_NODES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

struct NodeOutput {
  std::string name;  // its number, or what the writer called it
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool alive = false;
  uint64_t handles = 0;  // outside the tree
  std::string holder;    // what the program said about who holds it
};

struct NodeRow {
  std::string id;
  std::string parent;  // empty for a root
  uint32_t level = 0;
  std::string function;
  std::string inputs;  // in the writer's words, as is the next
  std::string state;
  uint64_t replays = 0;
  uint64_t executable_bytes = 0;
  uint64_t bytes = 0;   // its ranges, each byte once
  uint64_t alone = 0;
  uint64_t parked = 0;  // of its ranges
  uint64_t live_bytes = 0;   // of blocks that it allocated and that are live, and of its outputs
  uint64_t live_blocks = 0;
  std::vector<NodeOutput> outputs;
  // Begin and end of each, in address order, apart from each other.
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  // Whether all of these bytes are among them.
  bool Covers(uint64_t address, uint64_t size) const;
  uint64_t shared() const { return bytes - alone; }
};

struct NodeReport {
  bool has_tree = false;  // the snapshot lists nodes
  // A child follows its parent and its older siblings' children, whatever the file's order.
  std::vector<NodeRow> nodes;
  uint64_t live_without_node = 0;  // bytes
  uint64_t covered = 0;  // bytes that any node's ranges cover, each once
};

NodeReport NodesOf(const Snapshot& snapshot);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_NODES_H_
