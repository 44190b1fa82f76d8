// The device's time as stacks, for folded text and flame graphs.
//
//   all ; llama ; decode ; tree node 5 ; layer 3 ; attention ; attend  12000      nanoseconds
//
// The caller's scopes stand outermost first, above the op.
#ifndef GRAPHTREE_TOOLS_PROFILE_FLAME_H_
#define GRAPHTREE_TOOLS_PROFILE_FLAME_H_

#include "profiler/stats/trace_statistics.h"
#include "tools/memory/flame_tree.h"

namespace graphtree::profile {

memory::FlameTree FlameOf(const trace::TraceStatistics& statistics);

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_FLAME_H_
