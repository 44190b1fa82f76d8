// FlameTree: stacks added up from the outside in, for folded text and for pictures.
//
//   main 7                     a node's value is its own and that of all nodes above it
//    |- train 5
//    |   |- forward 3
//    |   `- backward 2
//    `- load 2
//
// Nodes lie in one array; children of a node are told apart by their text. Pure, not thread-safe;
// adding a stack costs a look-up for each of its frames.
#ifndef GRAPHTREE_TOOLS_MEMORY_FLAME_TREE_H_
#define GRAPHTREE_TOOLS_MEMORY_FLAME_TREE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphtree::memory {

class FlameTree {
 public:
  struct Node {
    std::string text;
    uint64_t value = 0;  // with its children
    uint64_t own = 0;
    std::map<std::string, size_t, std::less<>> children = {};  // by text: a steady order
  };

  explicit FlameTree(std::string root) { nodes_.push_back({.text = std::move(root)}); }

  // Frames from the outside in.
  void Add(const std::vector<std::string>& frames, uint64_t value);

  const Node& root() const { return nodes_[0]; }
  const Node& node(size_t index) const { return nodes_[index]; }
  size_t size() const { return nodes_.size(); }
  size_t depth() const { return depth_; }  // the longest stack, without the root

 private:
  std::vector<Node> nodes_;
  size_t depth_ = 0;
};

// One line a stack, as flame-graph tools read it: "main;train;forward 3". The root is left out;
// a semicolon in a frame becomes a colon.
std::string FoldedText(const FlameTree& tree);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_FLAME_TREE_H_
