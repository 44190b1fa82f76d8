// What Placement does off its hot paths.
#include "allocator/placement/placement.h"

#include <algorithm>

#include "device/base/check.h"

namespace graphtree {

Placed Placement::AllocateAt(uint32_t offset, uint32_t length) {
  GRAPHTREE_CHECK(length > 0) << "offset " << offset;
  const uint64_t end = uint64_t{offset} + length;
  if (end > limit_) return {PlaceOutcome::kOutOfSpace, kNoId, {}};
  if (offset >= end_) return PlaceInTail(offset, length);
  const RunId id = index_.Find(offset);
  if (runs_[id].is_live() || end > runs_[id].end()) return {PlaceOutcome::kOccupied, kNoId, {}};
  return Carve(id, offset, length);
}

Placed Placement::AllocateWhere(uint32_t length, const FirstPlace& first_place, bool with_tail) {
  uint32_t place = kNoId;
  const RunId id = free_runs_.FindAny(length, first_place, &place);
  if (id != kNoId) return Carve(id, place, length);
  if (with_tail) place = first_place(end_, limit_, tail_last_use_);
  if (place == kNoId) return {PlaceOutcome::kOutOfSpace, kNoId, {}};
  return PlaceInTail(place, length);
}

Placed Placement::AllocateAnywhere(uint32_t length, uint32_t alignment) {
  const auto aligned = [&](uint32_t begin, uint32_t end, LastUse) {
    const uint64_t start = Aligned(begin, alignment);
    return start + length <= end ? static_cast<uint32_t>(start) : kNoId;
  };
  return AllocateWhere(length, aligned, /*with_tail=*/false);
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
