// Which shapes are recorded where not all of them fit: those that are worth the most together.
//
//   budget   |------------------------------------------------------------|
//   lane 0   |== the largest one's pool ==|x|x|x|x|x|                        x: bytes of its own
//   lane 1                                          |= pool =|x|x|x|
//
// What a shape takes of its lane's pool, smaller shapes use, too: leaving a small shape out frees
// its own bytes alone, and leaving the largest one out frees the pool beyond the next.
//
// For each lane the shapes are gone through from the smallest pool up, and those choices are kept
// that are best for their bytes (frontier.h); then the lanes' choices are put together. Exact while
// there are no more than `most_choices` of them; beyond that bytes are rounded up, so that what is
// chosen still fits.
//
// Pure. Cost: items times choices, and choices squared for each further lane.
#ifndef GRAPHTREE_RUNTIME_PLAN_SELECTION_H_
#define GRAPHTREE_RUNTIME_PLAN_SELECTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace graphtree {

struct PlanItem {
  uint32_t lane = 0;
  uint64_t own_bytes = 0;
  uint64_t pool_bytes = 0;  // that others of the lane use, too
  uint64_t worth = 1;
  bool is_there = false;  // it stays, whatever it takes
};

struct Selection {
  std::vector<bool> is_chosen;  // by item
  uint64_t bytes = 0;  // more than the budget only if what is there takes more
  uint64_t worth = 0;  // of all that are chosen
};

// Of equal worth, the one of fewer bytes. `budget` of 0: no limit; one that is less than what is
// there takes counts as that. REQUIRES: all sums fit into 63
// bits; most_choices > 0.
Selection SelectWithin(absl::Span<const PlanItem> items, uint64_t budget,
                       uint64_t most_choices = 1024);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_SELECTION_H_
