// The bytes of a runtime's pools as lines of a profile's timeline.
#ifndef GRAPHTREE_RUNTIME_POOL_COUNTERS_H_
#define GRAPHTREE_RUNTIME_POOL_COUNTERS_H_

#include <functional>
#include <vector>

#include "profiler/profile_options.h"
#include "runtime/metrics.h"

namespace graphtree {

// "pool bytes" live and mapped, and "pool blocks": of all lanes together. `metrics` is called on
// the profile's thread, and must be callable until the profile has stopped.
std::vector<ProfileCounter> PoolCounters(std::function<Metrics()> metrics);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_POOL_COUNTERS_H_
