// Adds stacks up.
#include "tools/memory/flame_tree.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace graphtree::memory {
namespace {

std::string Foldable(absl::string_view frame) {
  return absl::StrReplaceAll(frame, {{";", ":"}, {"\n", " "}, {"\r", " "}});
}

}  // namespace

void FlameTree::Add(const std::vector<std::string>& frames, uint64_t value) {
  size_t at = 0;
  nodes_[0].value += value;
  for (const std::string& frame : frames) {
    const auto [child, is_new] = nodes_[at].children.try_emplace(frame, nodes_.size());
    at = child->second;
    if (is_new) nodes_.push_back({.text = frame});
    nodes_[at].value += value;
  }
  nodes_[at].own += value;
  depth_ = std::max(depth_, frames.size());
}

// Stacks may be thousands of frames deep, so the walk keeps its own list instead of recursing.
std::string FoldedText(const FlameTree& tree) {
  struct Step {
    size_t node;
    std::string path;
  };
  std::string text;
  std::vector<Step> open = {{0, ""}};
  while (!open.empty()) {
    const Step step = std::move(open.back());
    open.pop_back();
    const FlameTree::Node& node = tree.node(step.node);
    if (node.own != 0) {
      absl::StrAppend(&text, step.path.empty() ? Foldable(node.text) : step.path, " ", node.own,
                      "\n");
    }
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      const std::string frame = Foldable(child->first);
      open.push_back({child->second,
                      step.path.empty() ? frame : absl::StrCat(step.path, ";", frame)});
    }
  }
  return text;
}

}  // namespace graphtree::memory
