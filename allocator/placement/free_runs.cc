// Segregated free runs in address-ordered heaps.
#include "allocator/placement/free_runs.h"

namespace graphtree {

void FreeRuns::Heap::Grow() {
  const uint32_t capacity = std::max(8u, 2 * capacity_);
  std::unique_ptr<Entry[]> entries(new Entry[capacity]);
  std::copy(begin(), end(), entries.get());
  std::fill(entries.get() + size_, entries.get() + capacity, kNothing);
  entries_ = std::move(entries);
  capacity_ = capacity;
}

RunId FreeRuns::FindAny(uint32_t length, const FirstPlace& first_place, uint32_t* place) const {
  for (uint32_t c = NextClass(SizeClassOf(length)); c < kClassCount; c = NextClass(c + 1)) {
    Entry best = kNothing;
    for (const Entry entry : heaps_[c]) {
      const Run& run = runs_[RunIn(entry)];
      if (entry > best || run.length < length) continue;
      const uint32_t here = first_place(run.offset, run.end(), run.last_use);
      if (here == kNoId) continue;
      best = entry;
      *place = here;
    }
    if (best != kNothing) return RunIn(best);
  }
  return kNoId;
}

size_t FreeRuns::bytes() const {
  size_t total = sizeof(*this);
  for (const Heap& heap : heaps_) total += heap.bytes();
  return total;
}

}  // namespace graphtree
