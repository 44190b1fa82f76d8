// The blocks that came and went between two checkpoints: the net difference of two sets of live
// blocks.
//
// Placement is a function of the set, so the order of allocations and frees does not matter, and a
// block that came and went leaves no trace: the list has one entry for each block by which the sets
// differ, however much was allocated meanwhile.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_CHANGE_LIST_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_CHANGE_LIST_H_

#include <cstdint>
#include <vector>

namespace graphtree {

// One block (by the index of its record) that was allocated or freed.
class Change {
 public:
  static Change Allocated(uint32_t block) { return Change(block << 1); }
  static Change Freed(uint32_t block) { return Change(block << 1 | 1); }
  uint32_t block() const { return bits_ >> 1; }
  bool is_free() const { return (bits_ & 1) != 0; }
  friend bool operator==(Change a, Change b) { return a.bits_ == b.bits_; }

 private:
  explicit Change(uint32_t bits) : bits_(bits) {}
  uint32_t bits_;
};

// No block twice.
using ChangeList = std::vector<Change>;

// The net change of `first` and then `second`. Blocks that are in both cancel out and are added to
// `cancelled`.
ChangeList Compose(const ChangeList& first, const ChangeList& second,
                   std::vector<uint32_t>* cancelled);

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_CHANGE_LIST_H_
