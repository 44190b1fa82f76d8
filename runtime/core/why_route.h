// How a step ran, as its reason: what the shape table chose, and what the tree made of it.
//
//   the tree           reason
//   replayed           as chosen: hit or cover
//   warmed up          warming_up
//   recorded           stale_dependency if a recording was there and a dependency was touched,
//                      else not_recorded: it is now
//   ran eagerly        no_memory, excluded or failed, by the tree's reason
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_CORE_WHY_ROUTE_H_
#define GRAPHTREE_RUNTIME_CORE_WHY_ROUTE_H_

#include "graphs/tree_stats.h"
#include "runtime/why.h"

namespace graphtree {

// REQUIRES: the call went well.
Why WhyOfRoute(Why chosen, const LastCall& last);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_WHY_ROUTE_H_
