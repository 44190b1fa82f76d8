// Figures of the tree's as structs of the C interface.
#ifndef GRAPHTREE_RUNTIME_C_STATS_OF_H_
#define GRAPHTREE_RUNTIME_C_STATS_OF_H_

#include <cstddef>

#include "allocator/pool_types.h"
#include "graphs/reports/call_counts.h"
#include "graphs/reports/captured_pointers.h"
#include "graphs/tree_stats.h"
#include "runtime/c/graphtree.h"

namespace graphtree::c {

gt_tree_stats StatsOf(const TreeStats& stats);
gt_function_stats StatsOf(const FunctionStats& stats);
gt_pool_stats StatsOf(const PoolStats& stats);

// Up to `capacity` of them; returns how many there are.
size_t CopyPointers(const CapturedPointers& from, gt_pointer* into, size_t capacity);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_STATS_OF_H_
