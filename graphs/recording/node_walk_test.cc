// The order of a walk over nodes, and its end where paths are deep.
#include "graphs/recording/node_walk.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

Node* AddChild(Node* to, uint64_t id) {
  auto child = std::make_unique<Node>();
  child->id = id;
  child->parent = to;
  to->children.push_back(std::move(child));
  return to->children.back().get();
}

TEST(NodeWalkTest, EachNodeComesBeforeItsChildrenAndTheLastChildFirst) {
  Node root;
  Node* const a = AddChild(&root, 1);
  AddChild(&root, 2);
  AddChild(a, 3);
  AddChild(a, 4);
  std::vector<uint64_t> seen;
  VisitNodes(std::as_const(root), [&](const Node& node) { seen.push_back(node.id); });
  EXPECT_EQ(seen, (std::vector<uint64_t>{0, 2, 1, 4, 3}));
  VisitNodes(*a, [](Node& node) { node.replays = 7; });
  EXPECT_EQ(a->children[0]->replays, 7u);
  EXPECT_EQ(root.replays, 0u);
}

TEST(NodeWalkTest, APathMayBeDeep) {
  Node root;
  Node* last = &root;
  for (uint64_t id = 1; id <= 100'000; ++id) last = AddChild(last, id);
  uint64_t nodes = 0;
  VisitNodes(root, [&](Node&) { ++nodes; });
  EXPECT_EQ(nodes, 100'001u);
}

}  // namespace
}  // namespace graphtree
