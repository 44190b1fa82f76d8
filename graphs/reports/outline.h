// An outline shows all recordings of a tree: one row for each, parents before children, and the
// same rows as a drawing for people, as Graphviz and as JSON.
//
//   decode i32[4] x3                                81 replays
//   |- greedy f32[4,128]                            75 replays
//   |  `- layer f32[4,64] | f32[64,64] at 0x7f00a0  75 replays     after "|": static inputs
//   `- sampled f32[4,128] ...                        6 replays
//
// A path may be thousands of levels deep. Every 24 levels the drawing begins again at the left, and
// says in front how many levels it has left out:
//
//   (24 levels up) |- layer f32[4,64]               75 replays
//
// Names are the caller's: a line end in one is written as "\n".
//
// Plain data, copied out of the tree: it shows the moment at which it was taken.
#ifndef GRAPHTREE_GRAPHS_REPORTS_OUTLINE_H_
#define GRAPHTREE_GRAPHS_REPORTS_OUTLINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace graphtree {

struct OutlineNode {
  uint64_t id = 0;         // recordings count from 0
  int64_t parent = -1;     // its place among the rows; -1 for a root
  uint32_t level = 0;
  std::string function;
  std::string inputs;      // layouts and integers of the inputs that are not static
  std::vector<std::string> static_inputs = {};  // "f32[64,64] at 0x7f00a0" for each static one
  uint64_t replays = 0;
  uint64_t ops = 0;
  uint64_t copied_inputs = 0;
  uint64_t outputs = 0;
  uint64_t executable_bytes = 0;  // device memory
  std::vector<std::string> breaks = {};  // why it is cut, in order: one less than its sections
};

using Outline = std::vector<OutlineNode>;

// One line for each node, ending in a newline each.
std::string DrawOutline(const Outline& outline);

// A digraph for `dot`.
std::string OutlineAsGraphviz(const Outline& outline);

// {"nodes": [...]}: a row for each node, with the fields above by name; a root's parent is null.
std::string OutlineAsJson(const Outline& outline);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REPORTS_OUTLINE_H_
