// Segregated free runs in address-ordered heaps.
#include "allocator/free_runs.h"

#include <algorithm>

#include "device/base/check.h"

namespace graphtree {

void FreeRuns::Place(Heap& heap, uint32_t position, Entry entry) {
  heap[position] = entry;
  runs_[entry.run].role = position;
}

void FreeRuns::SiftUp(Heap& heap, uint32_t position, Entry entry) {
  while (position > 0) {
    const uint32_t parent = (position - 1) / 4;
    if (heap[parent].offset < entry.offset) break;
    Place(heap, position, heap[parent]);
    position = parent;
  }
  Place(heap, position, entry);
}

void FreeRuns::SiftDown(Heap& heap, uint32_t position, Entry entry) {
  const uint32_t size = static_cast<uint32_t>(heap.size());
  for (;;) {
    const uint32_t first = 4 * position + 1;
    if (first >= size) break;
    uint32_t least = first;
    const uint32_t last = std::min(first + 4, size);
    for (uint32_t child = first + 1; child < last; ++child) {
      if (heap[child].offset < heap[least].offset) least = child;
    }
    if (entry.offset < heap[least].offset) break;
    Place(heap, position, heap[least]);
    position = least;
  }
  Place(heap, position, entry);
}

void FreeRuns::Insert(RunId id) {
  const Run& run = runs_[id];
  const uint32_t size_class = SizeClassOf(run.length);
  Heap& heap = heaps_[size_class];
  heap.push_back({});
  SiftUp(heap, static_cast<uint32_t>(heap.size() - 1), {run.offset, id});
  words_[size_class / 64] |= uint64_t{1} << (size_class % 64);
  summary_ |= uint64_t{1} << (size_class / 64);
  ++count_;
}

void FreeRuns::Remove(RunId id) {
  Run& run = runs_[id];
  const uint32_t size_class = SizeClassOf(run.length);
  Heap& heap = heaps_[size_class];
  const uint32_t position = run.role;
  GRAPHTREE_DCHECK(position < heap.size() && heap[position].run == id) << "run " << id;
  run.role = Run::kLiveBit | Run::kNoOwner;
  --count_;
  const Entry last = heap.back();
  heap.pop_back();
  if (position < heap.size()) {
    if (position > 0 && last.offset < heap[(position - 1) / 4].offset) {
      SiftUp(heap, position, last);
    } else {
      SiftDown(heap, position, last);
    }
  } else if (heap.empty()) {
    words_[size_class / 64] &= ~(uint64_t{1} << (size_class % 64));
    if (words_[size_class / 64] == 0) summary_ &= ~(uint64_t{1} << (size_class / 64));
  }
}

uint32_t FreeRuns::NextClass(uint32_t size_class) const {
  if (size_class >= kClassCount) return kClassCount;
  const uint32_t word = size_class / 64;
  const uint64_t here = words_[word] >> (size_class % 64);
  if (here != 0) return size_class + static_cast<uint32_t>(std::countr_zero(here));
  const uint64_t above = summary_ & ~((uint64_t{2} << word) - 1);
  if (above == 0) return kClassCount;
  const uint32_t next = static_cast<uint32_t>(std::countr_zero(above));
  return next * 64 + static_cast<uint32_t>(std::countr_zero(words_[next]));
}

RunId FreeRuns::Find(uint32_t length) const {
  const uint32_t own = SizeClassOf(length);
  if (!heaps_[own].empty()) {
    const RunId lowest = heaps_[own].front().run;
    if (runs_[lowest].length >= length) return lowest;
  }
  const uint32_t larger = NextClass(own + 1);
  return larger == kClassCount ? kNoId : heaps_[larger].front().run;
}

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
