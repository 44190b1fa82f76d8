// Checkpoints of a pool: which blocks were live at some time, and how the pool goes back there.
//
//   Take() -> c0    allocate b3, free b1    Take() -> c1    Restore(c0): b3 is gone, b1 is back
//
// The books do the work (books/ledger.h). This part decides whether a restore may be done: the
// checkpoint is of this pool and was not dropped, no capture uses the blocks that differ, and the
// memory of those that come back was not given back to the driver since. It also tells the
// watchers which blocks went and which came back.
//
// Threads: as the pool. Cost: taking is constant, restoring is linear in the blocks that differ.
#ifndef GRAPHTREE_ALLOCATOR_POOL_CHECKPOINTS_H_
#define GRAPHTREE_ALLOCATOR_POOL_CHECKPOINTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/ledger.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/journal.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/tally.h"
#include "allocator/pool/watchers.h"
#include "allocator/pool_types.h"

namespace graphtree {

class Checkpoints {
 public:
  Checkpoints(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams,
              const Growth& growth, Journal& journal, Tally& tally, Watchers& watchers);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // For the pool's callers.
  absl::StatusOr<CheckpointId> Take();
  // Refused while a scope is open, and while a capture uses a block that the restore would free or
  // bring back. A block that comes back has the bytes that were written there last, also after
  // Park(kToHost); after Park(kDrop) its bytes are undefined.
  absl::Status Restore(CheckpointId checkpoint, const RestoreOptions& options = {});
  absl::Status Drop(CheckpointId checkpoint);
  // Whether the live blocks are exactly the checkpoint's.
  absl::StatusOr<bool> IsAt(CheckpointId checkpoint);
  // Whether all memory that blocks had on the way to the checkpoint, short-lived ones too, is
  // mapped and was not trimmed away since. If not, a graph recorded on that way must not be
  // launched.
  absl::StatusOr<bool> HasItsMemory(CheckpointId checkpoint);

  // For the pool's other parts, inside of a call.
  absl::Status RestoreNow(CheckpointId checkpoint, const RestoreOptions& options);
  // Undoes what the books noted since the watch with this mark began (Ledger::UndoWatch).
  void UndoWatched(uint32_t mark);

 private:
  absl::StatusOr<CheckpointTree::NodeId> NodeOf(CheckpointId id) const;
  absl::Status WhyNotRestored() const;
  absl::Status CheckContents() const;
  absl::Status HeldByCapture() const;
  absl::Status PlanTo(CheckpointId checkpoint, const RestoreOptions& options);
  absl::Status ApplyPlan();
  uint32_t UsersOfPlan() const;
  void CountPlan();

  const Arena& arena_;
  Door& door_;
  Ledger& ledger_;
  PoolStreams& streams_;
  const Growth& growth_;
  Journal& journal_;
  Tally& tally_;
  Watchers& watchers_;
  RestorePlan plan_;  // kept from call to call for its lists' memory
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_CHECKPOINTS_H_
