// The lanes of one device share its memory: each may map what no lane has mapped yet.
//
//   |---- lane 0 has ----|-- lane 1 has --|........ free ........|  RuntimeOptions::pool_bytes
//
// A lane takes memory when it warms up or records, and in some replays: one that is compared runs
// its body, too, and eager parts and kept outputs have memory of their own. The pools of the lanes
// count together what they have mapped (allocator/shared_bytes.h), so the total is never exceeded.
//
// Who lacks memory before a call has the lanes that have no step give back what nobody uses there,
// and no more than is lacking.
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_CORE_SHARED_MEMORY_H_
#define GRAPHTREE_RUNTIME_CORE_SHARED_MEMORY_H_

#include <cstdint>

namespace graphtree {

// How many bytes others have to give back before a lane can have `wanted` more than what is in use:
// what the others have, and what the lane cannot use again.
inline uint64_t LackOf(uint64_t total, uint64_t in_use, uint64_t wanted) {
  const uint64_t room = total > in_use ? total - in_use : 0;
  return wanted > room ? wanted - room : 0;
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_SHARED_MEMORY_H_
