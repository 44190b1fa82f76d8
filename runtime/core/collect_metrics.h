// Puts a runtime's metrics together: what its watch has, what its trees and pools hold.
//
// Threads: any, at any time. A look at a tree waits for the call that runs in it.
#ifndef GRAPHTREE_RUNTIME_CORE_COLLECT_METRICS_H_
#define GRAPHTREE_RUNTIME_CORE_COLLECT_METRICS_H_

#include <cstdint>
#include <vector>

#include "runtime/core/dependencies.h"
#include "runtime/metrics.h"
#include "runtime/runtime_options.h"
#include "runtime/watch/watch.h"

namespace graphtree {

// A lane that is in a step, or records. Waits for nobody.
struct LaneAtWork {
  uint32_t device = 0;
  uint32_t lane = 0;
  LaneNow now;
};
std::vector<LaneAtWork> LanesAtWork(const Watch& watch);

Metrics CollectMetrics(const Watch& watch, const Dependencies& dependencies,
                       const RuntimeOptions& options);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_COLLECT_METRICS_H_
