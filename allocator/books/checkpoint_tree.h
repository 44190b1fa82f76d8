// The checkpoints that can be restored, as a tree of differences.
//
//   root --- A --- B          each node: the changes between its parent's state and its own
//             \--- C          from B to C: undo B's changes, then do C's
//
// A caller drops a checkpoint that it will never restore. A dropped node without children goes
// away; one with children stays, and cannot be found, until the children are gone or one is left
// that can be joined to it. Pure: the tree knows record numbers, not blocks.
//
// Threads: none. Cost: Add is constant, the lists are moved and not copied.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_CHECKPOINT_TREE_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_CHECKPOINT_TREE_H_

#include <cstdint>
#include <vector>

#include "allocator/books/change_list.h"
#include "allocator/ids.h"
#include "allocator/placement/slab.h"

namespace graphtree {

class CheckpointTree {
 public:
  using NodeId = uint32_t;

  struct Node {
    NodeId parent = kNoId;
    NodeId first_child = kNoId;
    NodeId next_sibling = kNoId;
    NodeId previous_sibling = kNoId;
    uint32_t depth = 0;
    uint32_t generation = 0;
    bool in_use = false;
    bool dropped = false;
    uint64_t time = 0;                // the pool's clock of lost contents when it was taken
    ChangeList changes;               // from the parent's state to this one
    std::vector<uint32_t> footprint;  // places touched on the way here
  };

  // A new child of `parent` (kNoId: the root, of which there is one at a time).
  NodeId Add(NodeId parent, ChangeList changes, std::vector<uint32_t> footprint, uint64_t time);

  // kNoId if the node is gone or dropped.
  NodeId Find(uint32_t index, uint32_t generation) const;
  NodeId CommonAncestor(NodeId a, NodeId b) const;

  Node& node(NodeId id) { return nodes_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  bool has_children(NodeId id) const { return nodes_[id].first_child != kNoId; }
  // The only child, or kNoId if there is none or there are several.
  NodeId OnlyChild(NodeId id) const;

  // Takes out a node without children.
  void RemoveLeaf(NodeId id);
  // Takes out a node with one child, which takes its place with `changes`.
  void ReplaceByOnlyChild(NodeId id, ChangeList changes);

  uint32_t count() const { return count_; }
  size_t bytes() const;

 private:
  void Detach(NodeId id);
  void Attach(NodeId id, NodeId parent);
  void Recycle(NodeId id);
  void LowerDepths(NodeId top);

  std::vector<Node> nodes_;
  std::vector<NodeId> free_;
  uint32_t count_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_CHECKPOINT_TREE_H_
