// The pool's books: which block lies where, which blocks each checkpoint remembers, and how to go
// back to one.
//
// Pure: offsets in, offsets out; no device, no clock, no lock. Pool gives the offsets addresses and
// memory.
//
//   offsets   0 ........................ lasting_begin ..................... end
//             |  step region             |  lasting region               |
//             |  follows checkpoints     |  no restore touches it        |
//
// Checkpoints (change_book.h). Taking one copies nothing. Restoring undoes to the common ancestor
// and redoes down, so it costs the blocks that differ and not the blocks that exist. A block keeps
// its handle, size, tag and note while it is dead but remembered (block_records.h).
//
// A restore is planned first (restore_planner.h) and applied second, so that the pool can look at
// the plan and refuse.
//
// The lasting region has no checkpoints. While a watch is open the ledger lists what happens there,
// so that this can be undone as well:
//
//   Watch() -> 0   allocate k1   free k0   UndoWatch(0): k0 live, k1 dead
//
// Threads: none. Cost: allocate and free a few tens of nanoseconds, checkpoint constant, restore
// linear in the blocks that differ; 96 bytes a live block at most.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_LEDGER_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "allocator/books/block_record.h"
#include "allocator/books/block_records.h"
#include "allocator/books/change_book.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/restore_planner.h"
#include "allocator/placement/placement.h"

namespace graphtree {

struct BlockRequest {
  uint64_t bytes = 0;      // 0 is a block of its own too, of one quantum
  uint64_t alignment = 0;  // a power of two; 0 or less than a quantum means a quantum
  Region region = Region::kStep;
  bool guarded = false;    // quanta on either side belong to nobody
  uint32_t streams = 0;
  uint32_t tag = 0;
  uint32_t note = 0;
};

enum class AllocateOutcome {
  kAllocated,
  kOutOfSpace,
  kOccupied,      // an exact offset was asked for, and something live lies there
  kTooLarge,      // the size overflows what offsets can express
  kBadAlignment,  // not a power of two, or an exact offset that is not a multiple of a quantum
};

struct Allocation {
  AllocateOutcome outcome;
  BlockId block;
  LastUse last_use;  // who used the bytes before
};

class Ledger {
 public:
  // `step_limit` quanta from offset 0 and `lasting_limit` from `lasting_begin`. Ledgers with
  // different salts do not know each other's handles: the generations in them differ. Alignments
  // are those of `origin` (in quanta) + offset.
  Ledger(uint32_t step_limit, uint32_t lasting_begin, uint32_t lasting_limit, uint32_t salt = 0,
         uint64_t origin = 0);

  Allocation Allocate(const BlockRequest& request);
  // At an offset in bytes, where the caller wants it.
  Allocation AllocateAt(uint64_t offset, const BlockRequest& request);
  // Frees the block if it is live; returns what the handle named before. `time` goes into the last
  // use of the freed bytes.
  HandleState Free(BlockId id, uint32_t time);
  // REQUIRES: Check(id) says that it is live.
  void FreeLive(BlockId id, uint32_t time);

  // Moves a block that nobody has used yet to a place of its region that `first_place` allows;
  // returns false, and changes nothing, if there is none. `last_use` comes as that of the bytes
  // where the block lies, and is set to that of its new ones.
  bool Move(BlockId id, const Placement::FirstPlace& first_place, bool with_tail,
            LastUse* last_use);

  // From here on changes in the lasting region, and declarations of kept blocks, can be undone.
  // Returns the mark for UndoWatch. Watches nest, and end in reverse order.
  uint32_t Watch() {
    ++watches_;
    return static_cast<uint32_t>(deeds_.size());
  }
  // Ends the innermost watch and leaves everything as it is now.
  void EndWatch();
  // Ends the innermost watch and undoes everything since `mark`, which its Watch returned. `dies`
  // and `wakes` receive the blocks of the lasting region that died or came back by that.
  void UndoWatch(uint32_t mark, uint32_t time, std::vector<uint32_t>* dies,
                 std::vector<uint32_t>* wakes);

  HandleState Check(BlockId id) const { return records_.Check(id); }
  const BlockRecord& record(uint32_t index) const { return records_[index]; }
  BlockRecord& mutable_record(uint32_t index) { return records_[index]; }
  BlockId IdOf(uint32_t index) const { return records_.IdOf(index); }
  // The live block that covers an offset in quanta; an index of kNoId if none does.
  BlockId Find(uint32_t offset) const;

  // Makes the current state a checkpoint. `time` is the pool's clock (checkpoint_tree.h).
  CheckpointTree::NodeId Take(uint64_t time) { return book_.Take(time); }
  CheckpointTree::NodeId FindCheckpoint(uint32_t index, uint32_t generation) const {
    return book_.tree().Find(index, generation);
  }
  void Drop(CheckpointTree::NodeId id) { book_.Drop(records_, id); }
  // Fills in `plan`, whose lists keep their storage from call to call. Changes nothing.
  void Plan(CheckpointTree::NodeId target, absl::Span<const BlockId> surviving,
            absl::Span<const BlockId> dying, RestorePlan* plan) {
    planner_.Plan(records_, book_, target, surviving, dying, plan);
  }
  // Makes the plan's state the current one, or reports kOverlap in it and changes nothing.
  // REQUIRES: nothing has changed since Plan, which was ready.
  RestoreOutcome Apply(RestorePlan* plan, uint32_t time);
  const CheckpointTree& checkpoints() const { return book_.tree(); }

  // Notes that a block touches `place` on the way to the next checkpoint (footprints.h); notes
  // nothing while there is no checkpoint.
  void Touch(uint32_t place) {
    if (notes_places()) book_.footprints().Touch(place);
  }
  bool notes_places() const { return book_.is_listing(); }
  uint32_t place_references(uint32_t place) const {
    return book_.footprints().references(place);
  }

  Placement& placement(Region region) { return region == Region::kStep ? step_ : lasting_; }
  const Placement& placement(Region region) const {
    return region == Region::kStep ? step_ : lasting_;
  }
  uint32_t region_begin(Region region) const {
    return region == Region::kStep ? 0 : lasting_begin_;
  }
  uint32_t record_count() const { return records_.count(); }

  size_t bookkeeping_bytes() const;
  // Stops the process if the books contradict each other. For tests.
  void CheckConsistency() const;

 private:
  static bool Prepare(const BlockRequest& request, uint64_t* length, uint64_t* alignment,
                      AllocateOutcome* outcome);
  Allocation Enter(const BlockRequest& request, uint64_t alignment, const Placed& placed);
  // A block dies, or comes back, without an entry in the list of changes.
  void Kill(uint32_t index, uint32_t time);
  bool Wake(uint32_t index);

  // What happened in the lasting region while it was watched. A deed counts as a reference to the
  // block's record.
  struct Deed {
    enum Kind : uint8_t { kAllocated, kFreed };
    uint32_t block;
    Kind kind;
  };
  void NoteDeed(uint32_t index, Deed::Kind kind);

  bool WakeAll(RestorePlan* plan, uint32_t time);
  BlockId FirstLiveIn(uint32_t offset, uint32_t length) const;

  // What is live, and where.
  BlockRecords records_;
  Placement step_;
  Placement lasting_;
  const uint32_t lasting_begin_;
  // What was live, in the step region.
  ChangeBook book_;
  RestorePlanner planner_;
  // What happened in the lasting region while somebody watched.
  uint32_t watches_ = 0;
  std::vector<Deed> deeds_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_LEDGER_H_
