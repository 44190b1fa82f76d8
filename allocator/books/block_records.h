// The records of all blocks that are live or remembered, and the handles that name them.
//
//   handle { index 2, generation 5 }     records_[2]: generation 5   the block
//                                        records_[2]: generation 6   stale: the record has been
//                                                                    used for another block since
//
// A block takes a record when it is placed, and gives it back once it is dead and no list of
// changes refers to it: whoever lists a block counts a reference in the block's record.
//
// Threads: none.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_BLOCK_RECORDS_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_BLOCK_RECORDS_H_

#include <cstddef>
#include <cstdint>

#include "allocator/books/block_record.h"
#include "allocator/placement/slab.h"
#include "device/base/check.h"

namespace graphtree {

// What a handle names.
enum class HandleState {
  kLive,
  kUnknown,      // never a block of these records
  kStale,        // the record has been used for another block since
  kAlreadyFree,  // dead, though a checkpoint remembers it
};

class BlockRecords {
 public:
  // Records with different salts do not know each other's handles: the generations in them differ.
  explicit BlockRecords(uint32_t salt) : salt_(salt) {}

  BlockRecord& operator[](uint32_t index) { return records_[index]; }
  const BlockRecord& operator[](uint32_t index) const { return records_[index]; }
  BlockId IdOf(uint32_t index) const { return {index, records_[index].generation ^ salt_}; }
  HandleState Check(BlockId id) const {
    if (id.index >= records_.size()) return HandleState::kUnknown;
    const BlockRecord& record = records_[id.index];
    if ((record.generation ^ salt_) != id.generation) return HandleState::kStale;
    return record.is_live() ? HandleState::kLive : HandleState::kAlreadyFree;
  }
  bool IsKnown(BlockId id) const {
    const HandleState outcome = Check(id);
    return outcome == HandleState::kLive || outcome == HandleState::kAlreadyFree;
  }

  uint32_t Take() { return records_.Take(); }
  // REQUIRES: dead, and nobody refers to it.
  void Recycle(uint32_t index) {
    ++records_[index].generation;
    records_[index].in_use = false;
    records_.Give(index);
  }
  void Unreference(uint32_t index) {
    BlockRecord& record = records_[index];
    GRAPHTREE_DCHECK(record.references > 0) << "block " << index;
    if (--record.references == 0 && !record.is_live()) Recycle(index);
  }

  // One more than the largest index ever taken.
  uint32_t count() const { return records_.size(); }
  uint32_t taken() const { return records_.taken(); }
  size_t bytes() const { return records_.bytes(); }

 private:
  Slab<BlockRecord> records_;
  const uint32_t salt_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_BLOCK_RECORDS_H_
