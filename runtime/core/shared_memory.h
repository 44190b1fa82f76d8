// The lanes of one device share its memory: each may grow by what no lane has taken yet.
//
//   |---- lane 0 has ----|-- lane 1 has --|........ free ........|  total
//
//   limit of lane 0: what it has + free      limit of lane 1: what it has + free
//
// A lane takes memory when it warms up or records, seldom when it replays; so limits are set anew
// after a call that was no replay. A lane that has a step keeps its limit until the step is over,
// so several lanes that grow then may exceed the total: each by what was free when its limit was
// set.
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

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_SHARED_MEMORY_H_
