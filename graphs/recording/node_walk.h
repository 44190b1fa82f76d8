// Visits a node and all nodes below it: each before its children, and of these the last one first.
//
//   root            visited: root b a d c
//   |-- a -- c
//   |    `-- d
//   `-- b
//
// Uses a list and no recursion: paths may be thousands of levels deep.
//
// Threads: the tree's caller, or who looks at the tree. `visit` adds and removes no nodes.
#ifndef GRAPHTREE_GRAPHS_RECORDING_NODE_WALK_H_
#define GRAPHTREE_GRAPHS_RECORDING_NODE_WALK_H_

#include <vector>

#include "graphs/recording/node.h"

namespace graphtree {

// `AnyNode` is Node or const Node.
template <typename AnyNode, typename Visitor>
void VisitNodes(AnyNode& from, Visitor visit) {
  std::vector<AnyNode*> open = {&from};
  while (!open.empty()) {
    AnyNode& node = *open.back();
    open.pop_back();
    visit(node);
    for (const auto& child : node.children) open.push_back(child.get());
  }
}

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RECORDING_NODE_WALK_H_
