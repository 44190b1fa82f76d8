// Segregated free runs in address-ordered heaps.
#include "allocator/free_runs.h"

namespace graphtree {

RunId FreeRuns::FindAny(uint32_t length, uint32_t alignment) const {
  for (uint32_t c = NextClass(SizeClassOf(length)); c < kClassCount; c = NextClass(c + 1)) {
    Entry best = {kNoId, kNoId};
    for (const Entry& entry : heaps_[c]) {
      const uint64_t start = AlignUp(entry.offset, alignment);
      if (start + length <= runs_[entry.run].end() && entry.offset < best.offset) best = entry;
    }
    if (best.run != kNoId) return best.run;
  }
  return kNoId;
}

size_t FreeRuns::bytes() const {
  size_t total = sizeof(*this);
  for (const Heap& heap : heaps_) total += heap.capacity() * sizeof(Entry);
  return total;
}

}  // namespace graphtree
