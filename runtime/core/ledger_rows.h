// Collects what a runtime's ledger is made of (plan/ledger.h): asks each lane's tree for its
// recordings and their memory, and takes the rest from what programs have noted (watch/watch.h).
//
// Threads: any, at any time; calls in a tree wait while it is looked at. Cost: copies each
// recording's ranges, so it is for people and for whoever plans, and not for each step.
#ifndef GRAPHTREE_RUNTIME_CORE_LEDGER_ROWS_H_
#define GRAPHTREE_RUNTIME_CORE_LEDGER_ROWS_H_

#include <cstdint>

#include "graphs/tree.h"
#include "runtime/plan/ledger.h"
#include "runtime/watch/watch.h"

namespace graphtree {

// What the tree's pool has mapped, and of that the part for eager runs and kept outputs.
struct PoolBytes {
  uint64_t mapped = 0;
  uint64_t lasting = 0;
};
PoolBytes PoolBytesOf(Tree& tree);

// Recordings stand by lane, each lane's in the order in which its tree shows them; programs in the
// order of their numbers, and a recording's shape is one's id. `workspace_bytes`: of all together.
LedgerInput CollectLedger(const Watch& watch, uint64_t workspace_bytes);

// With executables as the drivers hold them, as far as that is known.
MemoryLedger LedgerOfWatch(const Watch& watch, uint64_t workspace_bytes);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_LEDGER_ROWS_H_
