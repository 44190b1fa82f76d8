// Puts a runtime's metrics together: what its watch has, what its trees and pools hold.
//
// Threads: any, at any time. A look at a tree waits for the call that runs in it.
#ifndef GRAPHTREE_RUNTIME_CORE_COLLECT_METRICS_H_
#define GRAPHTREE_RUNTIME_CORE_COLLECT_METRICS_H_

#include "runtime/core/dependencies.h"
#include "runtime/metrics.h"
#include "runtime/runtime_options.h"
#include "runtime/watch/watch.h"

namespace graphtree {

Metrics CollectMetrics(const Watch& watch, const Dependencies& dependencies,
                       const RuntimeOptions& options);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_COLLECT_METRICS_H_
