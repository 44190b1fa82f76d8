// Where a program's slots lie. Pure: it computes offsets and touches no memory.
//
//   arena, one for the program:   | ids, greatest | lens, greatest | tables, greatest | cursor |
//   block, one for each step:     | Staged x slots | ids, padded | lens, padded | tables, padded |
//
// A slot is at one place of the arena in every shape, and has there the room of the greatest shape.
// In a block it takes the room of the shape at hand.
#ifndef GRAPHTREE_RUNTIME_SLOTS_SLOT_PLAN_H_
#define GRAPHTREE_RUNTIME_SLOTS_SLOT_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphs/layout.h"
#include "runtime/shapes/key.h"
#include "runtime/slots/slot.h"
#include "runtime/slots/unpack_table.h"

namespace graphtree {

struct ArenaPlan {
  std::vector<uint64_t> offsets;  // of each slot, a multiple of 256
  uint64_t cursor = 0;            // where the cursor lies (block_cursor.h), behind the slots
  uint64_t bytes = 0;             // of all; none without slots
};

// REQUIRES: CheckSlots(slots).
ArenaPlan PlanArena(absl::Span<const SlotSpec> slots);

// What staging a slot needs, worked out once, in half a cache line.
struct alignas(32) SlotPlace {
  static constexpr uint8_t kNone = 0xff;  // no type

  uint64_t payload_bytes = 0;  // where in the block
  uint64_t row_bytes = 0;
  uint64_t tail_bits = 0;  // of Tail::kValue
  uint32_t rows = 0;       // of the shape
  // The type of rows that are copied as they are. kNone where rows lie in pieces, or kernels fill
  // the slot.
  uint8_t plain_type = kNone;
};
static_assert(sizeof(SlotPlace) == 32, "one of them is never in two cache lines");

// How the slots of one shape are brought in.
struct ShapePlan {
  std::vector<unpack::Slot> slots;
  std::vector<SlotPlace> places;
  std::vector<const Layout*> layouts;  // as the body sees them
  uint32_t filled = 0;                 // a bit for each slot that kernels fill (SlotSpec::fill)
  uint32_t needed = 0;                 // a bit for each slot that a step may not leave out
  uint64_t block_bytes = 0;
  const Layout* block = nullptr;  // bytes
  uint32_t launch_blocks = 0;     // of the unpack op
};

// An error if the key does not fit the slots (CheckFits), or wants a block of 64 GiB or more.
absl::StatusOr<ShapePlan> PlanShape(absl::Span<const SlotSpec> slots, const ArenaPlan& arena,
                                    const Key& key);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_SLOT_PLAN_H_
