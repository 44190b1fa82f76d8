// Finds the run that covers an offset, without a search tree or a hash of addresses.
//
// The managed range is cut into buckets of 256 KiB. Each remembers the lowest run that starts in
// it; a bit says whether it has one. A look-up goes to the bucket of the offset (or the nearest one
// below that has a run) and walks the runs' own links from there, 512 steps at the very most and a
// few for the block sizes that models use. A run that comes or goes costs the index one compare.
//
//   offset ->  bucket:  [ r7 ][ -- ][ -- ][ r9 ]...      r7 -> r8 -> r9   (links in address order)
//
// Threads: none. Memory: 4 bytes for each 256 KiB of the highest offset ever used.
#ifndef GRAPHTREE_ALLOCATOR_PLACEMENT_RUN_INDEX_H_
#define GRAPHTREE_ALLOCATOR_PLACEMENT_RUN_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/placement/run.h"

namespace graphtree {

class RunIndex {
 public:
  explicit RunIndex(const Runs* runs) : runs_(*runs) {}

  // Call after the run is linked to its neighbours.
  void Insert(RunId id) {
    const Run& run = runs_[id];
    const uint32_t bucket = run.offset >> kShift;
    if (bucket >= first_.size()) Grow(bucket);
    RunId& first = first_[bucket];
    if (first == kNoId || run.offset < runs_[first].offset) first = id;
    occupied_[bucket / 64] |= uint64_t{1} << (bucket % 64);
  }

  // Call while the run is still linked.
  void Remove(RunId id) {
    const Run& run = runs_[id];
    const uint32_t bucket = run.offset >> kShift;
    if (first_[bucket] != id) return;
    const bool has_more = run.next != kNoId && runs_[run.next].offset >> kShift == bucket;
    first_[bucket] = has_more ? run.next : kNoId;
    if (!has_more) occupied_[bucket / 64] &= ~(uint64_t{1} << (bucket % 64));
  }

  // The last run that starts at or before `offset`; kNoId if none does.
  RunId Find(uint32_t offset) const;

  size_t bytes() const {
    return first_.capacity() * sizeof(RunId) + occupied_.capacity() * sizeof(uint64_t);
  }

 private:
  static constexpr int kShift = 9;  // quanta in a bucket, as a power of two

  void Grow(uint32_t bucket);
  // The highest bucket at or below `bucket` that has a run; kNoId if none has.
  uint32_t OccupiedAtOrBelow(uint32_t bucket) const;

  const Runs& runs_;
  std::vector<RunId> first_;
  std::vector<uint64_t> occupied_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_PLACEMENT_RUN_INDEX_H_
