// The hot paths of Placement: splitting, merging and choosing runs.
//
// They stand in a header, and the compiler must inline the helpers: a call between them would cost
// more than their work.
// Included by placement.h alone.
#ifndef GRAPHTREE_ALLOCATOR_PLACEMENT_PLACEMENT_INLINE_H_
#define GRAPHTREE_ALLOCATOR_PLACEMENT_PLACEMENT_INLINE_H_

#include <cstdint>

#include "allocator/placement/placement.h"
#include "device/base/check.h"

namespace graphtree {

[[gnu::always_inline]] inline RunId Placement::InsertAfter(RunId previous, uint32_t offset,
                                                           uint32_t length, LastUse last_use) {
  const RunId id = runs_.Take();
  Run& run = runs_[id];
  run.offset = offset;
  run.length = length;
  run.previous = previous;
  run.role = Run::kLiveBit | Run::kNoOwner;
  run.last_use = last_use;
  RunId& link = previous == kNoId ? first_ : runs_[previous].next;
  run.next = link;
  link = id;
  (run.next == kNoId ? last_ : runs_[run.next].previous) = id;
  index_.Insert(id);
  return id;
}

[[gnu::always_inline]] inline void Placement::Unlink(RunId id) {
  index_.Remove(id);
  const Run& run = runs_[id];
  (run.previous == kNoId ? first_ : runs_[run.previous].next) = run.next;
  (run.next == kNoId ? last_ : runs_[run.next].previous) = run.previous;
  runs_.Give(id);
}

// A free run keeps its place in its heap as long as its class stays: only the offset orders a heap.
inline void Placement::Resize(RunId id, uint32_t length) {
  Run& run = runs_[id];
  if (SizeClassOf(run.length) == SizeClassOf(length)) {
    run.length = length;
    return;
  }
  free_runs_.Remove(id);
  run.length = length;
  free_runs_.Insert(id);
}

inline Placed Placement::Carve(RunId id, uint32_t offset, uint32_t length) {
  const uint32_t found_offset = runs_[id].offset, found_end = runs_[id].end();
  const LastUse last_use = runs_[id].last_use;
  RunId live = id;
  if (offset > found_offset) {
    Resize(id, offset - found_offset);
    live = InsertAfter(id, offset, length, last_use);
  } else {
    free_runs_.Remove(id);
    runs_[id].length = length;
  }
  const uint32_t rest = found_end - (offset + length);
  if (rest > 0) free_runs_.Insert(InsertAfter(live, offset + length, rest, last_use));
  live_length_ += length;
  return {PlaceOutcome::kPlaced, live, last_use};
}

[[gnu::always_inline]] inline Placed Placement::PlaceInTail(uint32_t offset, uint32_t length) {
  if (offset > end_) {
    free_runs_.Insert(InsertAfter(last_, end_, offset - end_, tail_last_use_));
  }
  end_ = offset + length;
  live_length_ += length;
  return {PlaceOutcome::kPlaced, InsertAfter(last_, offset, length, {}), tail_last_use_};
}

[[gnu::always_inline]] inline Placed Placement::Allocate(uint32_t length, uint32_t alignment) {
  GRAPHTREE_CHECK(length > 0 && IsPowerOfTwo(alignment))
      << "length " << length << ", alignment " << alignment;
  RunId id = free_runs_.Find(length);
  if (id != kNoId && alignment > 1 && !Holds(runs_[id], length, alignment)) {
    // A run this long holds the request wherever it starts.
    const uint64_t sure = uint64_t{length} + alignment - 1;
    id = sure <= limit_ ? free_runs_.Find(static_cast<uint32_t>(sure)) : kNoId;
  }
  if (id == kNoId) {
    const uint64_t start = Aligned(end_, alignment);
    if (start + length <= limit_) {
      return PlaceInTail(static_cast<uint32_t>(start), length);
    }
    return AllocateAnywhere(length, alignment);
  }
  const uint64_t start = Aligned(runs_[id].offset, alignment);
  return Carve(id, static_cast<uint32_t>(start), length);
}

[[gnu::always_inline]] inline void Placement::FreeLast(RunId id, LastUse last_use) {
  const RunId previous = runs_[id].previous;
  tail_last_use_.Merge(last_use);
  end_ = runs_[id].offset;
  Unlink(id);
  if (previous != kNoId && !runs_[previous].is_live()) {
    free_runs_.Remove(previous);
    tail_last_use_.Merge(runs_[previous].last_use);
    end_ = runs_[previous].offset;
    Unlink(previous);
  }
}

[[gnu::always_inline]] inline void Placement::Free(RunId id, LastUse last_use) {
  GRAPHTREE_CHECK(runs_[id].is_live())
      << "run " << id << " at offset " << runs_[id].offset << " is free";
  // Field by field: a copy of the whole run would wait for the stores that just made it.
  uint32_t length = runs_[id].length;
  const RunId next = runs_[id].next, previous = runs_[id].previous;
  if (next == kNoId) {
    live_length_ -= length;
    return FreeLast(id, last_use);
  }
  // Both neighbours are needed and neither is in the cache: fetch them side by side.
  if (previous != kNoId) __builtin_prefetch(&runs_[previous]);
  live_length_ -= length;
  if (!runs_[next].is_live()) {
    length += runs_[next].length;
    last_use.Merge(runs_[next].last_use);
    free_runs_.Remove(next);
    Unlink(next);
  }
  if (previous != kNoId && !runs_[previous].is_live()) {
    Unlink(id);
    Resize(previous, runs_[previous].length + length);
    runs_[previous].last_use.Merge(last_use);
    return;
  }
  runs_[id].length = length;
  runs_[id].last_use = last_use;
  free_runs_.Insert(id);
}

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_PLACEMENT_PLACEMENT_INLINE_H_
