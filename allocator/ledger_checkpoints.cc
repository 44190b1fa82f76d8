// Taking and dropping checkpoints, and the places they touched.
#include <utility>

#include "allocator/ledger.h"
#include "device/base/check.h"

namespace graphtree {

CheckpointTree::NodeId Ledger::Take(uint64_t time) {
  base_ = tree_.Add(base_, std::exchange(changes_, std::exchange(spare_changes_, {})),
                    std::exchange(footprint_, {}), time);
  ++epoch_;
  return base_;
}

// Takes a reference for every entry and tells allocated blocks where they are listed.
void Ledger::SetChanges(ChangeList changes) {
  for (Change change : changes) ++records_[change.block()].references;
  RelistCurrent(std::move(changes));
}

void Ledger::RelistCurrent(ChangeList changes) {
  changes_ = std::move(changes);
  for (uint32_t slot = 0; slot < changes_.size(); ++slot) {
    if (!changes_[slot].is_free()) records_[changes_[slot].block()].change_slot = slot;
  }
}

void Ledger::Forget(ChangeList changes) {
  for (Change change : changes) Unreference(change.block());
  changes.clear();
  if (changes.capacity() > spare_changes_.capacity()) spare_changes_ = std::move(changes);
}

ChangeList Ledger::Join(const ChangeList& first, const ChangeList& second) {
  std::vector<uint32_t> cancelled;
  ChangeList net = Compose(first, second, &cancelled);
  for (uint32_t index : cancelled) {
    Unreference(index);
    Unreference(index);
  }
  return net;
}

void Ledger::Drop(CheckpointTree::NodeId id) {
  tree_.node(id).dropped = true;
  LeavePlaces(&tree_.node(id).footprint);
  Tidy(id);
}

// Takes dropped nodes out for as long as that is possible from `id` upwards.
void Ledger::Tidy(CheckpointTree::NodeId id) {
  while (id != kNoId && tree_.node(id).dropped) {
    if (tree_.has_children(id)) return TidyInner(id);
    const CheckpointTree::NodeId parent = tree_.node(id).parent;
    ChangeList changes = std::move(tree_.node(id).changes);
    tree_.RemoveLeaf(id);
    if (id != base_) {
      Forget(std::move(changes));
    } else {
      base_ = parent;
      ChangeList current = std::exchange(changes_, {});
      if (parent != kNoId) {
        RelistCurrent(Join(changes, current));
      } else {
        Forget(std::move(current));  // and a root itself has no changes
        LeavePlaces(&footprint_);
      }
    }
    id = parent;
  }
}

// Joins a dropped node to its child, if it has only one and is not where the current state starts.
void Ledger::TidyInner(CheckpointTree::NodeId id) {
  const CheckpointTree::NodeId child = tree_.OnlyChild(id);
  if (child == kNoId || id == base_) return;
  ChangeList first = std::move(tree_.node(id).changes);
  ChangeList second = std::move(tree_.node(child).changes);
  if (tree_.node(id).parent != kNoId) {
    tree_.ReplaceByOnlyChild(id, Join(first, second));
    return;
  }
  // Nobody can go back to before a root, so it has no changes, and its child's are of no more use.
  Forget(std::move(second));
  tree_.ReplaceByOnlyChild(id, {});
}

void Ledger::GrowPlaces(uint32_t place) {
  place_epoch_.resize(place + 1, 0);
  place_references_.resize(place + 1, 0);
}

void Ledger::LeavePlaces(std::vector<uint32_t>* places) {
  for (uint32_t place : *places) --place_references_[place];
  places->clear();
}

void Ledger::CheckConsistency() const {
  step_.CheckConsistency();
  kept_.CheckConsistency();
  uint32_t live = 0;
  for (Region region : {Region::kStep, Region::kKept}) {
    const Placement& placement = this->placement(region);
    for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
      const Run& run = placement.run(id);
      if (!run.is_live()) continue;
      const BlockRecord& record = records_[run.owner()];
      GRAPHTREE_CHECK(record.run == id && record.length == run.length) << "run " << id;
      GRAPHTREE_CHECK(record.offset == region_begin(region) + run.offset) << "run " << id;
      ++live;
    }
  }
  uint32_t entries = 0;
  for (Change change : changes_) {
    const BlockRecord& record = records_[change.block()];
    GRAPHTREE_CHECK(record.is_live() != change.is_free() && record.references > 0)
        << "block " << change.block();
    ++entries;
  }
  GRAPHTREE_CHECK(base_ != kNoId || entries == 0) << entries << " changes and no checkpoint";
  GRAPHTREE_CHECK(live <= records_.taken()) << live << " live blocks";
  GRAPHTREE_CHECK(tree_.count() > 0 || live == records_.taken())
      << records_.taken() << " records for " << live << " live blocks and no checkpoint";
}

}  // namespace graphtree
