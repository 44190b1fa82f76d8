// The checkpoints of the books: a tree of differences, and the difference between now and the
// checkpoint that the current state started from.
//
//        c0                    each arrow is a list of changes: the blocks that came and went
//       /  \                   (change_list.h)
//     c1    c2
//             \__ now          base: c2;  changes: +b7 -b3
//
// Taking a checkpoint moves the list of changes into a new node: constant time, no copy. A dropped
// node is taken out as soon as no way between other nodes needs it: a leaf at once, a node with one
// child by joining the two lists.
//
// With no checkpoint there is no base, and nothing is listed at all.
//
// The records are the caller's, who names them in each call: a listed block has a reference in its
// record, and the record of a block that was allocated since the base has its place in the list.
//
// Threads: none. Cost: listing a change is a few nanoseconds.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_CHANGE_BOOK_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_CHANGE_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocator/books/block_records.h"
#include "allocator/books/change_list.h"
#include "allocator/books/checkpoint_tree.h"
#include "allocator/books/footprints.h"
#include "allocator/placement/slab.h"

namespace graphtree {

class ChangeBook {
 public:
  using NodeId = CheckpointTree::NodeId;

  bool is_listing() const { return base_ != kNoId; }
  NodeId base() const { return base_; }
  const ChangeList& changes() const { return changes_; }
  const CheckpointTree& tree() const { return tree_; }
  Footprints& footprints() { return footprints_; }
  const Footprints& footprints() const { return footprints_; }

  // REQUIRES, of both: is_listing().
  void ListAllocated(BlockRecords& records, uint32_t index) {
    records[index].change_slot = static_cast<uint32_t>(changes_.size());
    ++records[index].references;
    changes_.push_back(Change::Allocated(index));
  }
  // A block that was allocated since the base leaves the list; an older one is listed as freed.
  void ListFreed(BlockRecords& records, uint32_t index);

  // Makes the current state a checkpoint, and the base.
  NodeId Take(uint64_t time);
  void Drop(BlockRecords& records, NodeId id);
  // Makes another checkpoint the base; the current state differs from it by these blocks.
  template <typename Indexes>
  void Rebase(BlockRecords& records, NodeId base, const Indexes& freed, const Indexes& allocated) {
    ChangeList changes = TakeSpare();
    for (uint32_t index : freed) changes.push_back(Change::Freed(index));
    for (uint32_t index : allocated) changes.push_back(Change::Allocated(index));
    MoveTo(records, base, std::move(changes));
  }

  size_t bytes() const {
    return tree_.bytes() + changes_.capacity() * sizeof(Change) + footprints_.bytes();
  }

 private:
  bool IsListedAsAllocated(const BlockRecords& records, uint32_t index) const;
  ChangeList TakeSpare() { return std::exchange(spare_changes_, {}); }
  void MoveTo(BlockRecords& records, NodeId base, ChangeList changes);
  // Makes `changes` the current list. Its entries are counted as references already.
  void Relist(BlockRecords& records, ChangeList changes);
  void Forget(BlockRecords& records, ChangeList changes);
  ChangeList Join(BlockRecords& records, const ChangeList& first, const ChangeList& second);
  void Tidy(BlockRecords& records, NodeId id);
  void TidyInner(BlockRecords& records, NodeId id);

  CheckpointTree tree_;
  NodeId base_ = kNoId;  // what the current changes start from
  ChangeList changes_;
  ChangeList spare_changes_;  // an empty list, kept for its memory
  Footprints footprints_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_CHANGE_BOOK_H_
