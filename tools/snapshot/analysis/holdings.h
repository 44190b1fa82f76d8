// Holdings: who holds which bytes at one moment, at the end or after any event of the history.
//
// At the end the blocks say it, rounding included, and the history adds what it knows about them
// (tags and notes). At an earlier moment only the history is there: bytes are what was requested.
// Placeholders are left out.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_HOLDINGS_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_HOLDINGS_H_

#include <cstdint>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::snapshot {

struct Holding {
  int64_t device = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t requested = 0;
  StackId stack = 0;
  PoolId pool = kNoId;
  StringId user_metadata = words::kEmpty;
  StringId compile_context = words::kEmpty;
  uint32_t block = kNever;       // the row, if it is held at the end
  uint32_t allocation = kNever;  // in its device's history
  std::vector<StringId> notes;   // oldest first
};

std::vector<Holding> HoldingsAtEnd(const Snapshot& snapshot, const Side& side,
                                   const std::vector<DeviceHistory>& histories);
// After the event; kNever: before the first one.
std::vector<Holding> HoldingsAfter(const Snapshot& snapshot, const DeviceHistory& history,
                                   uint32_t event);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_HOLDINGS_H_
