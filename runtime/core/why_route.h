// How a step ran, as its reason: what the shape table chose, and what the tree made of it.
//
//   the tree           reason
//   replayed           as chosen: hit or cover
//   warmed up          evicted if a recording was there and had to make room, else warming_up
//   recorded           stale_dependency if a recording was there and a dependency was touched;
//                      evicted if it had to make room; else not_recorded: it is now
//   ran eagerly        no_memory, excluded or failed, by the tree's reason; as recorded, if the
//                      tree waits to be told to record (FunctionOptions::recorded_apart)
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_CORE_WHY_ROUTE_H_
#define GRAPHTREE_RUNTIME_CORE_WHY_ROUTE_H_

#include <cstdint>

#include "graphs/tree_stats.h"
#include "runtime/why.h"

namespace graphtree {

// What became of the recording that was there before the call.
enum class Before : uint8_t { kNothing, kStale, kEvicted };

// REQUIRES: the call went well.
Why WhyOfRoute(Why chosen, const LastCall& last, Before before);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_WHY_ROUTE_H_
