// Check: does the file agree with itself?
//
// Wrong is what cannot be in a healthy allocator: blocks that leave gaps or overlap, totals that do
// not add up, an allocation that the history ends with and the blocks do not have. Incomplete is
// what a ring that was full or a recording that began late explains. Unknown is what this program
// has no rule for.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_CHECK_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

struct Finding {
  enum Kind { kWrong, kIncomplete, kUnknown };
  Kind kind;
  std::string where;  // "segments[3].blocks[2]"
  std::string what;
};

// At most a few hundred findings of each kind; `count` goes on.
struct CheckResult {
  std::vector<Finding> findings;
  uint64_t wrong = 0;
  uint64_t incomplete = 0;
  uint64_t unknown = 0;
  // What was looked at.
  uint64_t segments = 0;
  uint64_t blocks = 0;
  uint64_t entries = 0;
};

CheckResult Check(const Snapshot& snapshot);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_CHECK_H_
