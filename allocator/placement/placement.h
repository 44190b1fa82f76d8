// Where blocks lie in a range of offsets: constant-time, low in fragmentation, and forgetful.
//
// Forgetful is the point. Every decision is a function of the set of live runs, never of the order
// in which they came: a block takes the lowest free run of the first size class that holds the
// request (32 classes for each doubling), and the offsets after the last live run are used only
// where no free run will do. So a checkpoint needs no copy of the free lists: whoever puts the same
// runs back, in any order, gets the same placements from then on, on any machine.
//
//   0                                                        end()                limit()
//   | live | free | live | live |  free  | live | free | live |   ... the tail ...  |
//            \________ runs, linked, split and merged _______/   not a run: last resort
//
// The tail is not part of the state: growing the limit changes no decision but "out of space".
//
// Threads: none. Cost: a few tens of nanoseconds for a call (books/ledger_bench.cc measures it
// under the books). All offsets and lengths are in quanta of 512 bytes.
#ifndef GRAPHTREE_ALLOCATOR_PLACEMENT_PLACEMENT_H_
#define GRAPHTREE_ALLOCATOR_PLACEMENT_PLACEMENT_H_

#include <cstddef>
#include <cstdint>

#include "allocator/placement/free_runs.h"
#include "allocator/placement/run.h"
#include "allocator/placement/run_index.h"

namespace graphtree {

enum class PlaceOutcome {
  kPlaced,
  kOutOfSpace,  // nothing below the limit can hold it
  kOccupied,    // an exact offset was asked for, and something live lies there
};

struct Placed {
  PlaceOutcome outcome;
  RunId run;         // kNoId unless placed
  LastUse last_use;  // who used the bytes before
};

class Placement {
 public:
  // Manages the offsets [0, limit). Alignments are those of `origin` + offset.
  explicit Placement(uint32_t limit, uint64_t origin = 0)
      : free_runs_(&runs_), index_(&runs_), limit_(limit), origin_(origin) {}
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // `length` > 0; `alignment` is a power of two, in quanta.
  Placed Allocate(uint32_t length, uint32_t alignment = 1);
  Placed AllocateAt(uint32_t offset, uint32_t length);
  // Where `first_place` allows it: looks at every run that is long enough and then, with
  // `with_tail`, at the tail.
  using FirstPlace = FreeRuns::FirstPlace;
  Placed AllocateWhere(uint32_t length, const FirstPlace& first_place, bool with_tail);
  // The first offset at or after this one that is aligned.
  uint64_t Aligned(uint64_t offset, uint64_t alignment) const {
    return AlignUp(origin_ + offset, alignment) - origin_;
  }
  // `last_use` says which streams may still be using the bytes.
  void Free(RunId id, LastUse last_use = {});

  // Moves the end of the managed range. It may not fall below end().
  void SetLimit(uint32_t limit);

  // Notes which block a live run is, by a number of the caller's.
  void SetOwner(RunId id, uint32_t owner) { runs_[id].role = Run::kLiveBit | owner; }

  const Run& run(RunId id) const { return runs_[id]; }
  // The run that covers `offset`, live or free; kNoId in the tail.
  RunId Find(uint32_t offset) const;
  // The lowest run; follow Run::next for the others. kNoId when nothing is live.
  RunId first() const { return first_; }

  uint32_t end() const { return end_; }
  uint32_t limit() const { return limit_; }
  uint32_t live_length() const { return live_length_; }
  uint32_t live_count() const { return runs_.taken() - free_runs_.count(); }
  // The longest request (unaligned) that would be placed. Looks at every run.
  uint32_t LargestFree() const;

  size_t bookkeeping_bytes() const {
    return runs_.bytes() + free_runs_.bytes() + index_.bytes();
  }
  // Stops the process if links, heaps, index or totals disagree. For tests; looks at every run.
  void CheckConsistency() const;

 private:
  // Makes [offset, offset + length) of the free run `id` live; what is left on either side is free.
  Placed Carve(RunId id, uint32_t offset, uint32_t length);
  Placed PlaceInTail(uint32_t offset, uint32_t length);
  // Whether so many quanta fit in the run at a multiple of `alignment`.
  bool Holds(const Run& run, uint32_t length, uint32_t alignment) const {
    return Aligned(run.offset, alignment) + length <= run.end();
  }
  Placed AllocateAnywhere(uint32_t length, uint32_t alignment);
  RunId InsertAfter(RunId previous, uint32_t offset, uint32_t length, LastUse last_use);
  void Unlink(RunId id);
  void Resize(RunId id, uint32_t length);
  void FreeLast(RunId id, LastUse last_use);

  Runs runs_;
  FreeRuns free_runs_;
  RunIndex index_;
  RunId first_ = kNoId;
  RunId last_ = kNoId;  // always live: a free run at the end becomes tail
  uint32_t end_ = 0;
  uint32_t limit_;
  const uint64_t origin_;
  uint32_t live_length_ = 0;
  LastUse tail_last_use_;
};

}  // namespace graphtree

#include "allocator/placement/placement_inline.h"

#endif  // GRAPHTREE_ALLOCATOR_PLACEMENT_PLACEMENT_H_
