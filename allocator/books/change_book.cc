// Listing changes, taking and dropping checkpoints.
#include "allocator/books/change_book.h"

#include <vector>

namespace graphtree {

// A record may have a slot from before the last checkpoint: then the list has another entry there,
// or none.
bool ChangeBook::IsListedAsAllocated(const BlockRecords& records, uint32_t index) const {
  const uint32_t slot = records[index].change_slot;
  return slot < changes_.size() && changes_[slot] == Change::Allocated(index);
}

void ChangeBook::ListFreed(BlockRecords& records, uint32_t index) {
  BlockRecord& record = records[index];
  if (!IsListedAsAllocated(records, index)) {
    ++record.references;
    changes_.push_back(Change::Freed(index));
    return;
  }
  const Change moved = changes_.back();
  changes_[record.change_slot] = moved;
  if (!moved.is_free()) records[moved.block()].change_slot = record.change_slot;
  changes_.pop_back();
  record.change_slot = kNoId;
  --record.references;
}

ChangeBook::NodeId ChangeBook::Take(uint64_t time) {
  base_ = tree_.Add(base_, std::exchange(changes_, TakeSpare()), footprints_.EndWay(), time);
  return base_;
}

void ChangeBook::MoveTo(BlockRecords& records, NodeId base, ChangeList changes) {
  base_ = base;
  ChangeList left;
  left.swap(changes_);
  for (Change change : changes) ++records[change.block()].references;
  Relist(records, std::move(changes));
  Forget(records, std::move(left));
  footprints_.ForgetWay();
}

void ChangeBook::Relist(BlockRecords& records, ChangeList changes) {
  changes_ = std::move(changes);
  for (uint32_t slot = 0; slot < changes_.size(); ++slot) {
    if (!changes_[slot].is_free()) records[changes_[slot].block()].change_slot = slot;
  }
}

void ChangeBook::Forget(BlockRecords& records, ChangeList changes) {
  for (Change change : changes) records.Unreference(change.block());
  changes.clear();
  if (changes.capacity() > spare_changes_.capacity()) spare_changes_ = std::move(changes);
}

ChangeList ChangeBook::Join(BlockRecords& records, const ChangeList& first,
                            const ChangeList& second) {
  std::vector<uint32_t> cancelled;
  ChangeList net = Compose(first, second, &cancelled);
  for (uint32_t index : cancelled) {
    records.Unreference(index);
    records.Unreference(index);
  }
  return net;
}

void ChangeBook::Drop(BlockRecords& records, NodeId id) {
  tree_.node(id).dropped = true;
  footprints_.Leave(&tree_.node(id).footprint);
  Tidy(records, id);
}

// Takes dropped nodes out for as long as that is possible from `id` upwards.
void ChangeBook::Tidy(BlockRecords& records, NodeId id) {
  while (id != kNoId && tree_.node(id).dropped) {
    if (tree_.has_children(id)) return TidyInner(records, id);
    const NodeId parent = tree_.node(id).parent;
    ChangeList changes = std::move(tree_.node(id).changes);
    tree_.RemoveLeaf(id);
    if (id != base_) {
      Forget(records, std::move(changes));
    } else {
      base_ = parent;
      ChangeList current = std::exchange(changes_, {});
      if (parent != kNoId) {
        Relist(records, Join(records, changes, current));
      } else {
        Forget(records, std::move(current));  // and a root itself has no changes
        footprints_.ForgetWay();
      }
    }
    id = parent;
  }
}

// Joins a dropped node to its child, if it has only one and is not where the current state starts.
void ChangeBook::TidyInner(BlockRecords& records, NodeId id) {
  const NodeId child = tree_.OnlyChild(id);
  if (child == kNoId || id == base_) return;
  ChangeList first = std::move(tree_.node(id).changes);
  ChangeList second = std::move(tree_.node(child).changes);
  if (tree_.node(id).parent != kNoId) {
    tree_.ReplaceByOnlyChild(id, Join(records, first, second));
    return;
  }
  // Nobody can go back to before a root, so it has no changes, and its child's are of no more use.
  Forget(records, std::move(second));
  tree_.ReplaceByOnlyChild(id, {});
}

}  // namespace graphtree
