// Top: holdings grouped by what a person asks for, largest first.
//
// Nodes are ours. A block that is held at the end says its node; of one that is gone by then the
// history knows the function (its tag) and the place, and the node is that of this function whose
// recording lies there. Recordings of one function may use the same memory one after the other:
// such a block is counted for "one of" them.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TOP_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TOP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/holdings.h"

namespace graphtree::snapshot {

enum class GroupBy { kStack, kLine, kTag, kNode, kPool, kSize };

struct Grouping {
  GroupBy by = GroupBy::kStack;
  // kStack: this many frames, from the culprit outwards; 0: the whole stack.
  size_t depth = 0;
  // kTag: where the tag is a JSON object, only this field of it.
  std::string field = {};
};

struct Holder {
  std::string key;  // frames are joined by line ends
  uint64_t bytes = 0;
  uint64_t requested = 0;
  uint64_t blocks = 0;
  StackId stack = 0;  // of its largest holding
  uint64_t largest = 0;
  std::vector<StringId> notes;  // different ones, in order of appearance
  uint64_t by_place = 0;        // kNode: blocks whose node was found by function and place
};

std::vector<Holder> GroupHoldings(const Snapshot& snapshot, const std::vector<Holding>& holdings,
                                  const Grouping& grouping);

// The frames of a stack, one a line, innermost first.
std::string StackKey(const Snapshot& snapshot, StackId stack);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TOP_H_
