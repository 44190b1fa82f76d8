// The blocks that came and went between two checkpoints: the net difference of two live sets.
//
// Placement is a function of the live set, so the order of what happened in between does not
// matter, and a block that came and went leaves no trace: the list is as long as the sets differ,
// however much was allocated meanwhile.
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

// What `first` and then `second` come to. Blocks that are in both cancel out and are added to
// `cancelled`.
ChangeList Compose(const ChangeList& first, const ChangeList& second,
                   std::vector<uint32_t>* cancelled);

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_CHANGE_LIST_H_
