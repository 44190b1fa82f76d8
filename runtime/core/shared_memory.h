// The lanes of one device share its memory: each may grow by what no lane has taken yet.
//
//   |---- lane 0 has ----|-- lane 1 has --|........ free ........|  total
//
//   limit of lane 0: what it has + free      limit of lane 1: what it has + free
//
// A lane takes memory when it warms up or records, and in some replays: one that is compared runs
// its body, too, and eager parts and kept outputs have memory of their own. So limits are set anew
// after every call that has changed what a lane has. A lane that has a step keeps its limit until
// the step is over, so several lanes that grow then may exceed the total: each by what was free
// when its limit was set.
//
// Who lacks memory before a call has the lanes that have no step give back what nobody uses there,
// and no more than is lacking.
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_CORE_SHARED_MEMORY_H_
#define GRAPHTREE_RUNTIME_CORE_SHARED_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace graphtree {

// By lane, in bytes. `taken` are the bytes that each has.
inline std::vector<uint64_t> SharedLimits(uint64_t total, absl::Span<const uint64_t> taken) {
  uint64_t all = 0;
  for (const uint64_t bytes : taken) all += bytes;
  const uint64_t free = total > all ? total - all : 0;
  std::vector<uint64_t> limits;
  for (const uint64_t bytes : taken) limits.push_back(bytes + free);
  return limits;
}

// How many bytes others have to give back before a lane can have `wanted` more than what is in use:
// what the others have, and what the lane cannot use again.
inline uint64_t LackOf(uint64_t total, uint64_t in_use, uint64_t wanted) {
  const uint64_t room = total > in_use ? total - in_use : 0;
  return wanted > room ? wanted - room : 0;
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_SHARED_MEMORY_H_
