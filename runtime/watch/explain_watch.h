// Makes an explanation (runtime/explain.h) of what a runtime has noted.
//
// Threads: any, at any time.
#ifndef GRAPHTREE_RUNTIME_WATCH_EXPLAIN_WATCH_H_
#define GRAPHTREE_RUNTIME_WATCH_EXPLAIN_WATCH_H_

#include <vector>

#include "runtime/explain.h"
#include "runtime/watch/watch.h"

namespace graphtree {

// One program, without advice. `costs` are Watch::launch_costs.
ExplainedProgram ExplainProgram(const ProgramWatch& watch, const std::vector<LaunchCost>& costs);
Explanation ExplainWatch(const Watch& watch, const ExplainOptions& options);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_EXPLAIN_WATCH_H_
