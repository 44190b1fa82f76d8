// Callers of a pool decide how much physical memory it holds: they map some ahead, set a limit,
// trim what nobody uses, and pin what must stay.
//
//   0 ........ live ........ mapped ............ limit ............ what the device has
//              |<--- Trim -->|<-- ReserveAhead -->|
//
// A pin holds the pieces under a range, for a caller that has registered their memory elsewhere.
// Several pins may lie in one piece, so pins are remembered as ranges.
//
// Threads: as the pool.
#ifndef GRAPHTREE_ALLOCATOR_POOL_MEMORY_BUDGET_H_
#define GRAPHTREE_ALLOCATOR_POOL_MEMORY_BUDGET_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "allocator/books/ledger.h"
#include "allocator/ids.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/parking.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/tally.h"

namespace graphtree {

class MemoryBudget {
 public:
  MemoryBudget(const Arena& arena, Door& door, const Ledger& ledger, PoolStreams& streams,
               Growth& growth, Tally& tally, Parking& parking);
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Maps memory for `bytes` more after the last block of a region, as far as the device has it and
  // the limit allows; returns how many bytes are missing, which PoolStats counts, too.
  absl::StatusOr<uint64_t> ReserveAhead(uint64_t bytes, Region region = Region::kStep);
  // Gives back pieces in which nothing is live and which no checkpoint's way touched, until at most
  // `goal_bytes` are mapped. With `break_checkpoints` also those that only checkpoints hold, which
  // a pool that serves recordings refuses. Returns the bytes that were, or later will be, released.
  absl::StatusOr<uint64_t> Trim(uint64_t goal_bytes, bool break_checkpoints = false);
  // Bytes that would be free to go if there were no checkpoints but these. One that was dropped
  // counts as none.
  uint64_t MostToRelease(absl::Span<const CheckpointId> stay) const;
  // Mapped bytes that nothing needs, so that a block of the lasting region could have them without
  // mapping more: what is free there, and pieces of the step region that nobody uses. What only
  // checkpoints hold is none of them.
  uint64_t IdleBytes() const;
  // Refused if `bytes` is less than what is live, or less than what a parked pool would wake.
  absl::Status SetLimit(uint64_t bytes);
  // Pieces under `range` are never unmapped until that very range is unpinned as often.
  absl::Status Pin(AddressRange range);
  absl::Status Unpin(AddressRange range);
  // The same for as long as the pool is there: nobody unpins it, and closing the pool ends it. Any
  // number of such pins of a piece are one.
  absl::Status PinForGood(AddressRange range);

 private:
  absl::StatusOr<std::vector<Piece*>> PiecesUnder(AddressRange range);

  const Arena& arena_;
  Door& door_;
  const Ledger& ledger_;
  PoolStreams& streams_;
  Growth& growth_;
  Tally& tally_;
  Parking& parking_;
  std::vector<AddressRange> pins_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_MEMORY_BUDGET_H_
