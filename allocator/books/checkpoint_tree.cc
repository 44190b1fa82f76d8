// Linking checkpoints.
#include "allocator/books/checkpoint_tree.h"

#include <utility>

#include "device/base/check.h"

namespace graphtree {

void CheckpointTree::Attach(NodeId id, NodeId parent) {
  Node& node = nodes_[id];
  node.parent = parent;
  node.depth = parent == kNoId ? 0 : nodes_[parent].depth + 1;
  node.previous_sibling = kNoId;
  node.next_sibling = parent == kNoId ? kNoId : nodes_[parent].first_child;
  if (parent == kNoId) return;
  if (node.next_sibling != kNoId) nodes_[node.next_sibling].previous_sibling = id;
  nodes_[parent].first_child = id;
}

void CheckpointTree::Detach(NodeId id) {
  const Node& node = nodes_[id];
  if (node.next_sibling != kNoId) {
    nodes_[node.next_sibling].previous_sibling = node.previous_sibling;
  }
  if (node.previous_sibling != kNoId) {
    nodes_[node.previous_sibling].next_sibling = node.next_sibling;
  } else if (node.parent != kNoId) {
    nodes_[node.parent].first_child = node.next_sibling;
  }
}

CheckpointTree::NodeId CheckpointTree::Add(NodeId parent, ChangeList changes,
                                           std::vector<uint32_t> footprint, uint64_t time) {
  NodeId id;
  if (free_.empty()) {
    id = static_cast<NodeId>(nodes_.size());
    nodes_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Node& node = nodes_[id];
  node.in_use = true;
  node.dropped = false;
  node.first_child = kNoId;
  node.time = time;
  node.changes = std::move(changes);
  node.footprint = std::move(footprint);
  Attach(id, parent);
  ++count_;
  return id;
}

CheckpointTree::NodeId CheckpointTree::Find(uint32_t index, uint32_t generation) const {
  if (index >= nodes_.size()) return kNoId;
  const Node& node = nodes_[index];
  return node.in_use && !node.dropped && node.generation == generation ? index : kNoId;
}

CheckpointTree::NodeId CheckpointTree::CommonAncestor(NodeId a, NodeId b) const {
  while (a != b) {
    NodeId& deeper = nodes_[a].depth >= nodes_[b].depth ? a : b;
    deeper = nodes_[deeper].parent;
    GRAPHTREE_CHECK(deeper != kNoId) << "two checkpoints without a common root";
  }
  return a;
}

CheckpointTree::NodeId CheckpointTree::OnlyChild(NodeId id) const {
  const NodeId child = nodes_[id].first_child;
  return child != kNoId && nodes_[child].next_sibling == kNoId ? child : kNoId;
}

// Its changes were moved out.
void CheckpointTree::Recycle(NodeId id) {
  Node& node = nodes_[id];
  node.in_use = false;
  ++node.generation;
  node.footprint = std::vector<uint32_t>();  // {} would keep its memory
  free_.push_back(id);
  --count_;
}

void CheckpointTree::RemoveLeaf(NodeId id) {
  GRAPHTREE_CHECK(!has_children(id)) << "checkpoint " << id;
  Detach(id);
  Recycle(id);
}

void CheckpointTree::ReplaceByOnlyChild(NodeId id, ChangeList changes) {
  const NodeId child = OnlyChild(id);
  GRAPHTREE_CHECK(child != kNoId) << "checkpoint " << id;
  const NodeId parent = nodes_[id].parent;
  Detach(id);
  Recycle(id);
  Attach(child, parent);
  nodes_[child].changes = std::move(changes);
  LowerDepths(child);
}

// Walks the subtree in depth-first order without a stack of its own.
void CheckpointTree::LowerDepths(NodeId top) {
  NodeId id = top;
  for (;;) {
    if (id != top) nodes_[id].depth = nodes_[nodes_[id].parent].depth + 1;
    if (nodes_[id].first_child != kNoId) {
      id = nodes_[id].first_child;
      continue;
    }
    while (id != top && nodes_[id].next_sibling == kNoId) id = nodes_[id].parent;
    if (id == top) return;
    id = nodes_[id].next_sibling;
  }
}

size_t CheckpointTree::bytes() const {
  size_t total = nodes_.capacity() * sizeof(Node) + free_.capacity() * sizeof(NodeId);
  for (const Node& node : nodes_) {
    total += node.changes.capacity() * sizeof(Change);
    total += node.footprint.capacity() * sizeof(uint32_t);
  }
  return total;
}

}  // namespace graphtree
