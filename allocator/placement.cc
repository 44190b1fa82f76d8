// Splitting, merging and choosing runs.
#include "allocator/placement.h"

#include <algorithm>

#include "device/base/check.h"

namespace graphtree {
namespace {

bool Holds(const Run& run, uint32_t length, uint32_t alignment) {
  return AlignUp(run.offset, alignment) + length <= run.end();
}

}  // namespace

RunId Placement::InsertAfter(RunId previous, uint32_t offset, uint32_t length,
                             LastUse last_use) {
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

void Placement::Unlink(RunId id) {
  index_.Remove(id);
  const Run& run = runs_[id];
  (run.previous == kNoId ? first_ : runs_[run.previous].next) = run.next;
  (run.next == kNoId ? last_ : runs_[run.next].previous) = run.previous;
  runs_.Give(id);
}

// A free run keeps its place in its heap as long as its class stays: only the offset orders a heap.
void Placement::Resize(RunId id, uint32_t length) {
  Run& run = runs_[id];
  if (SizeClassOf(run.length) == SizeClassOf(length)) {
    run.length = length;
    return;
  }
  free_runs_.Remove(id);
  run.length = length;
  free_runs_.Insert(id);
}

Placed Placement::Carve(RunId id, uint32_t offset, uint32_t length) {
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

Placed Placement::PlaceInTail(uint32_t offset, uint32_t length) {
  if (offset > end_) {
    free_runs_.Insert(InsertAfter(last_, end_, offset - end_, tail_last_use_));
  }
  end_ = offset + length;
  live_length_ += length;
  return {PlaceOutcome::kPlaced, InsertAfter(last_, offset, length, {}), tail_last_use_};
}

Placed Placement::Allocate(uint32_t length, uint32_t alignment) {
  GRAPHTREE_CHECK(length > 0 && IsPowerOfTwo(alignment))
      << "length " << length << ", alignment " << alignment;
  RunId id = free_runs_.Find(length);
  if (id != kNoId && alignment > 1 && !Holds(runs_[id], length, alignment)) {
    // A run this long holds the request wherever it starts.
    const uint64_t sure = uint64_t{length} + alignment - 1;
    id = sure <= limit_ ? free_runs_.Find(static_cast<uint32_t>(sure)) : kNoId;
  }
  if (id == kNoId) {
    const uint64_t start = AlignUp(end_, alignment);
    if (start + length <= limit_) {
      return PlaceInTail(static_cast<uint32_t>(start), length);
    }
    id = free_runs_.FindAny(length, alignment);
    if (id == kNoId) return {PlaceOutcome::kOutOfSpace, kNoId, {}};
  }
  const uint64_t start = AlignUp(runs_[id].offset, alignment);
  return Carve(id, static_cast<uint32_t>(start), length);
}

Placed Placement::AllocateAt(uint32_t offset, uint32_t length) {
  GRAPHTREE_CHECK(length > 0) << "offset " << offset;
  const uint64_t end = uint64_t{offset} + length;
  if (end > limit_) return {PlaceOutcome::kOutOfSpace, kNoId, {}};
  if (offset >= end_) return PlaceInTail(offset, length);
  const RunId id = index_.Find(offset);
  if (runs_[id].is_live() || end > runs_[id].end()) return {PlaceOutcome::kOccupied, kNoId, {}};
  return Carve(id, offset, length);
}

void Placement::FreeLast(RunId id, LastUse last_use) {
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

void Placement::Free(RunId id, LastUse last_use) {
  GRAPHTREE_CHECK(runs_[id].is_live())
      << "run " << id << " at offset " << runs_[id].offset << " is free";
  // Field by field: a copy of the whole run would wait for the stores that just made it.
  uint32_t length = runs_[id].length;
  const RunId next = runs_[id].next, previous = runs_[id].previous;
  live_length_ -= length;
  if (next == kNoId) return FreeLast(id, last_use);
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

void Placement::SetLimit(uint32_t limit) {
  GRAPHTREE_CHECK(limit >= end_) << "limit " << limit << " below the last block's end " << end_;
  limit_ = limit;
}

RunId Placement::Find(uint32_t offset) const {
  return offset >= end_ ? kNoId : index_.Find(offset);
}

uint32_t Placement::LargestFree() const {
  uint32_t largest = limit_ - end_;
  for (RunId id = first_; id != kNoId; id = runs_[id].next) {
    if (!runs_[id].is_live()) largest = std::max(largest, runs_[id].length);
  }
  return largest;
}

void Placement::CheckConsistency() const {
  uint32_t offset = 0, live = 0, free_count = 0;
  bool free_before = false;
  RunId previous = kNoId;
  for (RunId id = first_; id != kNoId; id = runs_[id].next) {
    const Run& run = runs_[id];
    GRAPHTREE_CHECK(run.offset == offset && run.length > 0) << "run " << id << " at " << run.offset;
    GRAPHTREE_CHECK(run.previous == previous) << "run " << id;
    GRAPHTREE_CHECK(run.is_live() || !free_before) << "two free runs touch at " << offset;
    GRAPHTREE_CHECK(index_.Find(run.end() - 1) == id) << "run " << id << " is not found";
    free_before = !run.is_live();
    free_count += free_before ? 1 : 0;
    live += free_before ? 0 : run.length;
    offset = run.end();
    previous = id;
  }
  GRAPHTREE_CHECK(offset == end_ && !free_before && previous == last_) << "end " << end_;
  GRAPHTREE_CHECK(live == live_length_ && free_count == free_runs_.count()) << "live " << live;
}

}  // namespace graphtree
