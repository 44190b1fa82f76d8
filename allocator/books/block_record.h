// What the pool knows about one block, live or remembered by a checkpoint.
//
// A dead block keeps its record for as long as a checkpoint may bring the block back: its size,
// tag, note and handle are then what they were.
#ifndef GRAPHTREE_ALLOCATOR_BOOKS_BLOCK_RECORD_H_
#define GRAPHTREE_ALLOCATOR_BOOKS_BLOCK_RECORD_H_

#include <cstdint>

#include "allocator/ids.h"
#include "allocator/placement/run.h"
#include "allocator/placement/slab.h"

namespace graphtree {

struct BlockRecord {
  bool is_live() const { return run != kNoId; }
  // Guards: quanta that belong to nobody. A guarded block has front_guard() of them in front and
  // one after it.
  uint32_t front_guard() const { return guard == 0 ? 0 : 1u << (guard - 1); }
  uint32_t guards() const { return guard == 0 ? 0 : front_guard() + 1; }
  // What the caller sees: the first quantum and the bytes that were asked for.
  uint32_t user_offset() const { return offset + front_guard(); }
  bool IsInside(uint32_t quantum) const {
    return quantum - user_offset() < length - guards();  // wraps around for a quantum in front
  }
  uint64_t requested_bytes() const { return uint64_t{length - guards()} * kQuantum - unused; }

  // First, because the slab writes over it when the record is free: everything else about a block
  // that just died can still be read.
  uint32_t references = 0;    // from lists of changes
  uint32_t offset = 0;        // in quanta, from the start of the pool's addresses
  uint32_t length = 0;        // in quanta
  RunId run = kNoId;          // of a live block
  uint32_t generation = 0;
  uint32_t change_slot = kNoId;  // in the current list of changes, if it was allocated there
  uint32_t streams = 0;       // those that used the block, one bit each
  uint32_t tag = 0;
  uint32_t note = 0;
  uint16_t unused = 0;        // bytes of the length that were not asked for
  uint8_t guard = 0;  // 1 + log2 of the quanta in front; 0: not guarded
  Region region : 1 = Region::kStep;
  bool in_use : 1 = false;    // live or remembered
  bool touched : 1 = false;   // the restore that is being planned has met the block
  bool wanted : 1 = false;    // live in the planned state
  bool doomed : 1 = false;    // named as dying in the plan
  bool unguarded : 1 = false;  // came back: its guards may hold what others wrote there meanwhile
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_BOOKS_BLOCK_RECORD_H_
