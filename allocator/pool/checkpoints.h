// Checkpoints of a pool: which blocks were live at some time, and how the pool goes back there.
//
//   Take() -> c0    allocate b3, free b1    Take() -> c1    Restore(c0): b3 is gone, b1 is back
//
// The books do the work (ledger.h). What is decided here is whether a restore may be done: the
// checkpoint is of this pool and was not dropped, no capture allocates from the pool, and the
// memory of the blocks that come back was not given to the driver since. Whoever watches blocks is
// told what went and what came back.
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
  // Refused while a capture allocates from the pool: a scope of its own, or a stream that it knows.
  // The bytes of a block that comes back are what was written there last. Park(kToHost) keeps them;
  // after Park(kDrop) they are anything.
  absl::Status Restore(CheckpointId checkpoint, const RestoreOptions& options = {});
  absl::Status Drop(CheckpointId checkpoint);
  // Whether the live blocks are exactly the checkpoint's.
  absl::StatusOr<bool> IsAt(CheckpointId checkpoint);
  // Whether the memory that was touched on the way to the checkpoint, temporaries too, is all there
  // and has not been trimmed away since. If not, a graph recorded on that way must not be launched.
  absl::StatusOr<bool> HasItsMemory(CheckpointId checkpoint);

  // For the pool's other parts, inside of a call.
  absl::Status RestoreNow(CheckpointId checkpoint, const RestoreOptions& options);
  // Takes back what happened to kept memory since a watch of the books began.
  void UndoKept(uint32_t mark);

 private:
  absl::StatusOr<CheckpointTree::NodeId> NodeOf(CheckpointId id) const;
  absl::Status WhyNotRestored() const;
  absl::Status CheckContents() const;
  bool IsCapturedFrom() const;
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
