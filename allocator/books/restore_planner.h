// Finds out what a restore would change, and changes nothing.
//
//   now:  base c2, +b7 -b3                       walk up to the common ancestor, and down again:
//   to c1:  undo +b7 -b3, undo c2, redo c1       the last change of each block counts
//
//   b3 dead -> live   wakes        b7 live -> dead   dies
//
// Then the caller's lists change the fate of some blocks. A block that is named as surviving stays
// though the checkpoint does not know it: a guest. A block that is named as dying is freed though
// the checkpoint has it live.
//
// The planner uses three bits of each record that it meets: `touched`, `wanted` and `doomed`.
//
// Threads: none. Cost: linear in the blocks that differ.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_RESTORE_PLANNER_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_RESTORE_PLANNER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "allocator/books/block_records.h"
#include "allocator/books/change_book.h"
#include "allocator/books/checkpoint_tree.h"

namespace graphtree {

enum class RestoreOutcome {
  kReady,
  kUnknownCheckpoint,  // dropped, or never taken
  kNotLiveThere,       // a block named as dying or surviving is live neither now nor there
  kOverlap,            // two blocks that should both be live share bytes
};

struct RestorePlan {
  RestoreOutcome outcome = RestoreOutcome::kReady;
  CheckpointTree::NodeId target = kNoId;
  BlockId culprit;              // kNotLiveThere, kOverlap: which block
  BlockId other;                // kOverlap: the block in its way
  std::vector<uint32_t> dies;   // records that are live now and will not be
  std::vector<uint32_t> wakes;  // records that are not live now and will be
  std::vector<uint32_t> freed;  // live in the checkpoint, but named as dying
  std::vector<uint32_t> guests;  // unknown to the checkpoint, but staying
  std::vector<uint32_t> doomed;  // all that were named as dying
};

class RestorePlanner {
 public:
  // The plan's lists keep their storage from call to call.
  void Plan(BlockRecords& records, const ChangeBook& book, CheckpointTree::NodeId target,
            absl::Span<const BlockId> surviving, absl::Span<const BlockId> dying,
            RestorePlan* plan);

 private:
  void Want(BlockRecords& records, uint32_t index, bool wanted);
  void WalkTo(BlockRecords& records, const ChangeBook& book, CheckpointTree::NodeId target);
  bool NameFates(BlockRecords& records, absl::Span<const BlockId> surviving,
                 absl::Span<const BlockId> dying, RestorePlan* plan);

  std::vector<uint32_t> touched_;                 // records that the plan looked at
  std::vector<CheckpointTree::NodeId> way_down_;  // from the common ancestor, last node first
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_RESTORE_PLANNER_H_
