// Compare: two or more snapshots of one program, by the stacks that hold memory.
//
// Addresses and ids mean nothing across files, so allocations are matched by the text of their
// stack and by size: of three blocks of 4 KiB before and five after, from one line, three are kept
// and two are new.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_COMPARE_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_COMPARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/holdings.h"

namespace graphtree::snapshot {

// A snapshot and what is held in it.
struct Moment {
  const Snapshot* snapshot;
  const std::vector<Holding>* holdings;
};

struct Amount {
  uint64_t bytes = 0;
  uint64_t count = 0;
};

struct StackDifference {
  std::string key;  // the stack, a frame a line
  Moment at;        // a snapshot that has the stack, and
  StackId stack = 0;  // which one it is there
  Amount added;
  Amount gone;
  Amount kept;
  std::vector<std::string> notes;  // on what was added or kept

  int64_t growth() const {
    return static_cast<int64_t>(added.bytes) - static_cast<int64_t>(gone.bytes);
  }
};

// Largest change first; stacks where nothing changed come last.
std::vector<StackDifference> Difference(const Moment& before, const Moment& after);

struct Interval {
  int64_t bytes = 0;
  int64_t count = 0;
};

struct Leak {
  std::string key;
  Moment at;  // the last snapshot
  StackId stack = 0;
  int64_t bytes = 0;  // grown from the first snapshot to the last
  int64_t count = 0;
  std::vector<Interval> intervals;
  std::vector<std::string> notes;
};

// Stacks whose bytes grow in every interval, by at least `least` bytes in all; largest first.
// REQUIRES: at least two moments.
std::vector<Leak> FindLeaks(const std::vector<Moment>& moments, uint64_t least);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_COMPARE_H_
