// Planning and applying a restore.
#include <utility>

#include "allocator/ledger.h"
#include "device/base/check.h"

namespace graphtree {

void Ledger::Want(uint32_t index, bool wanted) {
  BlockRecord& record = records_[index];
  if (!record.touched) {
    record.touched = true;
    touched_.push_back(index);
  }
  record.wanted = wanted;
}

// Leaves in every block that differs whether it is live in the target's state: the last word on the
// way up to the common ancestor and down again counts.
void Ledger::WalkTo(CheckpointTree::NodeId target) {
  for (Change change : changes_) Want(change.block(), change.is_free());
  const CheckpointTree::NodeId top = tree_.CommonAncestor(base_, target);
  for (CheckpointTree::NodeId id = base_; id != top; id = tree_.node(id).parent) {
    for (Change change : tree_.node(id).changes) Want(change.block(), change.is_free());
  }
  way_down_.clear();
  for (CheckpointTree::NodeId id = target; id != top; id = tree_.node(id).parent) {
    way_down_.push_back(id);
  }
  for (auto id = way_down_.rbegin(); id != way_down_.rend(); ++id) {
    for (Change change : tree_.node(*id).changes) Want(change.block(), !change.is_free());
  }
}

bool Ledger::IsWanted(const BlockRecord& record) const {
  return record.touched ? record.wanted : record.is_live();
}

// What the caller names changes the fate of some. Blocks that it does not name follow the
// checkpoint, but for those that were declared kept.
bool Ledger::NameFates(absl::Span<const BlockId> surviving, absl::Span<const BlockId> dying,
                       RestorePlan* plan) {
  const auto is_known = [this](BlockId id) {
    const FreeOutcome outcome = Check(id);
    return outcome == FreeOutcome::kFreed || outcome == FreeOutcome::kAlreadyFree;
  };
  for (BlockId id : dying) {
    plan->culprit = id;
    if (!is_known(id) || records_[id.index].region == Region::kKept) return false;
    BlockRecord& record = records_[id.index];
    if (record.doomed) continue;
    if (!IsWanted(record) && !record.is_live()) return false;
    record.doomed = true;
    plan->doomed.push_back(id.index);
    if (IsWanted(record)) plan->freed.push_back(id.index);
    Want(id.index, false);
  }
  for (BlockId id : surviving) {
    plan->culprit = id;
    if (!is_known(id)) return false;
    const BlockRecord& record = records_[id.index];
    if (IsWanted(record)) continue;
    if (!record.is_live() || record.doomed) return false;
    Want(id.index, true);
    plan->guests.push_back(id.index);
  }
  for (uint32_t index : touched_) {
    BlockRecord& record = records_[index];
    if (!record.keep || record.wanted || !record.is_live() || record.doomed) continue;
    record.wanted = true;
    plan->guests.push_back(index);
  }
  return true;
}

void Ledger::Plan(CheckpointTree::NodeId target, absl::Span<const BlockId> surviving,
                  absl::Span<const BlockId> dying, RestorePlan* plan) {
  plan->target = target;
  plan->dies.clear();
  plan->wakes.clear();
  plan->freed.clear();
  plan->guests.clear();
  plan->doomed.clear();
  touched_.clear();
  WalkTo(target);
  plan->outcome = NameFates(surviving, dying, plan) ? RestoreOutcome::kReady
                                                    : RestoreOutcome::kNotLiveThere;
  for (uint32_t index : plan->doomed) records_[index].doomed = false;
  for (uint32_t index : touched_) {
    BlockRecord& record = records_[index];
    record.touched = false;
    if (record.is_live() && !record.wanted) plan->dies.push_back(index);
    if (!record.is_live() && record.wanted) plan->wakes.push_back(index);
  }
}

void Ledger::Kill(uint32_t index, uint32_t time) {
  BlockRecord& record = records_[index];
  placement(record.region).Free(record.run, {record.streams, time});
  record.run = kNoId;
}

bool Ledger::Wake(uint32_t index) {
  BlockRecord& record = records_[index];
  const uint32_t offset = record.offset - region_begin(record.region);
  const Placed placed = placement(record.region).AllocateAt(offset, record.length);
  if (placed.run == kNoId) return false;
  record.run = placed.run;
  // Earlier users of these bytes become users of the block, so that its next reuse waits for them.
  record.streams |= placed.last_use.streams;
  placement(record.region).SetOwner(placed.run, index);
  return true;
}

// REQUIRES: there is one.
BlockId Ledger::FirstLiveIn(uint32_t offset, uint32_t length) const {
  RunId id = step_.Find(offset);
  while (!step_.run(id).is_live()) id = step_.run(id).next;
  GRAPHTREE_CHECK(step_.run(id).offset < offset + length) << "nothing lives in " << length;
  return IdOf(step_.run(id).owner());
}

// All or nothing: placement depends on the live set alone, so putting the dead back undoes it all.
bool Ledger::WakeAll(RestorePlan* plan, uint32_t time) {
  for (size_t i = 0; i < plan->wakes.size(); ++i) {
    if (Wake(plan->wakes[i])) continue;
    const BlockRecord& record = records_[plan->wakes[i]];
    plan->outcome = RestoreOutcome::kOverlap;
    plan->culprit = IdOf(plan->wakes[i]);
    plan->other = FirstLiveIn(record.offset, record.length);
    while (i-- > 0) Kill(plan->wakes[i], time);
    for (uint32_t index : plan->dies) {
      GRAPHTREE_CHECK(Wake(index)) << "block " << index << " cannot be put back";
    }
    return false;
  }
  return true;
}

RestoreOutcome Ledger::Apply(RestorePlan* plan, uint32_t time) {
  GRAPHTREE_CHECK(plan->outcome == RestoreOutcome::kReady) << "a plan that was refused";
  for (uint32_t index : plan->dies) Kill(index, time);
  if (!WakeAll(plan, time)) return plan->outcome;
  Rebase(*plan);
  return RestoreOutcome::kReady;
}

// The target becomes the base; what differs from it is where the caller overruled it.
void Ledger::Rebase(const RestorePlan& plan) {
  for (uint32_t index : plan.dies) records_[index].keep = false;
  ChangeList changes = std::exchange(spare_changes_, {});
  for (uint32_t index : plan.freed) changes.push_back(Change::Freed(index));
  for (uint32_t index : plan.guests) changes.push_back(Change::Allocated(index));
  base_ = plan.target;
  ChangeList left;
  left.swap(changes_);
  SetChanges(std::move(changes));
  Forget(std::move(left));
  LeavePlaces(&footprint_);
  ++epoch_;
}

}  // namespace graphtree
