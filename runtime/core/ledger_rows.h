// Collects what a runtime's ledger is made of (plan/ledger.h): asks each lane's tree for its
// recordings and their memory, and each program for its slots.
//
// Threads: as statistics in runtime.h. Cost: copies each recording's ranges, so it is for people
// and for whoever plans, and not for each step.
#ifndef GRAPHTREE_RUNTIME_CORE_LEDGER_ROWS_H_
#define GRAPHTREE_RUNTIME_CORE_LEDGER_ROWS_H_

#include <cstdint>

#include "graphs/tree.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lanes.h"
#include "runtime/core/programs.h"
#include "runtime/plan/ledger.h"

namespace graphtree {

// What the tree's pool has mapped, and of that the part for eager runs and kept outputs.
struct PoolBytes {
  uint64_t mapped = 0;
  uint64_t lasting = 0;
};
PoolBytes PoolBytesOf(Tree& tree);

// Recordings stand by lane, each lane's in the order in which its tree shows them.
LedgerInput CollectLedger(const Lanes& lanes, const Programs& programs,
                          const Dependencies& dependencies);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_LEDGER_ROWS_H_
