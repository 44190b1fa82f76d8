// Which recordings trees have places for, where a budget of nodes is smaller than a plan
// (TreeBudget::nodes, RuntimeOptions::shared).
//
//   limit of lane 0: 3   | recorded | wanted 9 | wanted 2 |  wanted 2  wanted 0     left out
//   limit of lane 1: 2   | wanted 5 | wanted 1 |
//   limit of all:    5   '-- what is recorded stays; then what is worth more; of equal worth, what
//                            comes first
//
// Otherwise each recording would evict another one of the plan, and the last ones would stay,
// whatever they are worth.
//
// Pure. Cost: sorting.
#ifndef GRAPHTREE_RUNTIME_PLAN_PLACES_H_
#define GRAPHTREE_RUNTIME_PLAN_PLACES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"

namespace graphtree {

struct PlaceWanted {
  uint32_t lane = 0;
  uint64_t worth = 1;
  bool is_there = false;  // it stays, whatever the limits
};

struct Places {
  std::map<uint32_t, uint64_t> of_lane;  // a lane that is not here has none
  uint64_t of_all = 0;
};

// By item: whether there is a place for it.
std::vector<bool> GivePlaces(absl::Span<const PlaceWanted> items, Places places);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_PLACES_H_
