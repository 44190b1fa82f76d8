// Planning a restore.
#include "allocator/books/restore_planner.h"

namespace graphtree {
namespace {

bool IsWanted(const BlockRecord& record) {
  return record.touched ? record.wanted : record.is_live();
}

}  // namespace

void RestorePlanner::Want(BlockRecords& records, uint32_t index, bool wanted) {
  BlockRecord& record = records[index];
  if (!record.touched) {
    record.touched = true;
    touched_.push_back(index);
  }
  record.wanted = wanted;
}

// Sets `wanted` in every block that differs: whether it is live in the target's state. The last
// change on the way up to the common ancestor and down again counts.
void RestorePlanner::WalkTo(BlockRecords& records, const ChangeBook& book,
                            CheckpointTree::NodeId target) {
  const CheckpointTree& tree = book.tree();
  for (Change change : book.changes()) Want(records, change.block(), change.is_free());
  const CheckpointTree::NodeId top = tree.CommonAncestor(book.base(), target);
  for (CheckpointTree::NodeId id = book.base(); id != top; id = tree.node(id).parent) {
    for (Change change : tree.node(id).changes) Want(records, change.block(), change.is_free());
  }
  way_down_.clear();
  for (CheckpointTree::NodeId id = target; id != top; id = tree.node(id).parent) {
    way_down_.push_back(id);
  }
  for (auto id = way_down_.rbegin(); id != way_down_.rend(); ++id) {
    for (Change change : tree.node(*id).changes) Want(records, change.block(), !change.is_free());
  }
}

// Blocks that the caller does not name follow the checkpoint, but for those that were declared
// kept.
bool RestorePlanner::NameFates(BlockRecords& records, absl::Span<const BlockId> surviving,
                               absl::Span<const BlockId> dying, RestorePlan* plan) {
  for (BlockId id : dying) {
    plan->culprit = id;
    if (!records.IsKnown(id) || records[id.index].region == Region::kLasting) return false;
    BlockRecord& record = records[id.index];
    if (record.doomed) continue;
    if (!IsWanted(record) && !record.is_live()) return false;
    record.doomed = true;
    plan->doomed.push_back(id.index);
    if (IsWanted(record)) plan->freed.push_back(id.index);
    Want(records, id.index, false);
  }
  for (BlockId id : surviving) {
    plan->culprit = id;
    if (!records.IsKnown(id)) return false;
    const BlockRecord& record = records[id.index];
    if (IsWanted(record)) continue;
    if (!record.is_live() || record.doomed) return false;
    Want(records, id.index, true);
    plan->guests.push_back(id.index);
  }
  return true;
}

void RestorePlanner::Plan(BlockRecords& records, const ChangeBook& book,
                          CheckpointTree::NodeId target, absl::Span<const BlockId> surviving,
                          absl::Span<const BlockId> dying, RestorePlan* plan) {
  plan->target = target;
  plan->dies.clear();
  plan->wakes.clear();
  plan->freed.clear();
  plan->guests.clear();
  plan->doomed.clear();
  touched_.clear();
  WalkTo(records, book, target);
  plan->outcome = NameFates(records, surviving, dying, plan) ? RestoreOutcome::kReady
                                                             : RestoreOutcome::kNotLiveThere;
  for (uint32_t index : plan->doomed) records[index].doomed = false;
  for (uint32_t index : touched_) {
    BlockRecord& record = records[index];
    record.touched = false;
    if (record.is_live() && !record.wanted) plan->dies.push_back(index);
    if (!record.is_live() && record.wanted) plan->wakes.push_back(index);
  }
}

}  // namespace graphtree
