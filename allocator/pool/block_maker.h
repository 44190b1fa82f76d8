// Makes a block that has a place usable: maps memory under the place, and orders the block's stream
// after the bytes' earlier users. Usually neither is needed, and the pool does without this object.
//
// Where memory or order cannot be had at the place, the search goes on like this:
//
//   map memory here
//     --> release free pieces elsewhere, and map here
//     --> move the block to where memory is mapped already
//     --> move it anywhere below the last block, and map there
//     --> ask the server to give something back, and begin again
//     --> write a report, and take the block out of the books
//
// A place is barred if its saved contents wait for a wake, or if another open capture has used its
// bytes. A block at a barred place may also move to after the last block.
//
// Where the books find no place at all, since the addresses are used up, the server is asked at
// once.
//
// Threads: as the pool. The server may call the pool from its callback while the allocation is half
// done: the door refuses what must not be done then (door.h).
#ifndef GRAPHTREE_ALLOCATOR_POOL_BLOCK_MAKER_H_
#define GRAPHTREE_ALLOCATOR_POOL_BLOCK_MAKER_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "allocator/books/ledger.h"
#include "allocator/order/set_aside.h"
#include "allocator/placement/run.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/blocks.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/shortage_reporter.h"
#include "allocator/pool/tally.h"
#include "allocator/pool/watchers.h"
#include "allocator/pool_types.h"
#include "device/stream.h"

namespace graphtree {

class BlockMaker {
 public:
  // In place of an alignment: the caller chose the address, and the block is not moved.
  static constexpr uint64_t kNotToBeMoved = ~uint64_t{0};

  BlockMaker(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams, Growth& growth,
             Journal& journal, Tally& tally, Watchers& watchers, Blocks& blocks);
  BlockMaker(const BlockMaker&) = delete;
  BlockMaker& operator=(const BlockMaker&) = delete;

  // Makes a block that was placed usable, and may move it. If that fails, the block is taken out of
  // the books.
  absl::Status MakeUsable(const Allocation& got, uint64_t alignment, Stream& stream);
  // Asks the server for addresses and tries again to place the block; kOutOfSpace if that was in
  // vain. The server may make the pool forget streams: `request` then gets the stream's new number.
  Allocation PlaceByAsking(BlockRequest* request, Stream& stream);
  absl::Status WhyNotPlaced(AllocateOutcome outcome, const BlockRequest& request);
  const ShortageReporter& reporter() const { return reporter_; }

 private:
  // A block that is being made: its place may change until it can be used.
  struct Making {
    BlockId block;
    uint64_t alignment;
    Stream& stream;
    LastUse last_use;  // of the bytes where the block lies now
    Shortage shortage;
    bool LacksMemory(const absl::Status& status) const {
      // A device may be short of other things than memory.
      return Growth::IsShortage(status) && shortage.missing > 0;
    }
  };
  // Which other places a block may have.
  struct Search {
    Region region;
    uint32_t length;
    uint64_t alignment;     // in quanta
    uint32_t out_of_reach;  // bits of streams that must not have used the bytes
    bool must_be_ready;
    uint32_t tried;         // an offset that will not do
  };
  absl::Status MakeReady(Making* making);
  absl::Status MakeReadyHere(Making* making);
  absl::Status SearchOn(Making* making, absl::Status status);
  // Of both regions: where memory is or was.
  std::array<Quanta, 2> CoveredQuanta() const;
  bool MoveTo(const Search& search, bool with_tail, Making* making);
  uint32_t FirstPlace(const Search& search, uint32_t begin, uint32_t end, LastUse last_use) const;
  absl::Status AskServer(Making* making, absl::Status status);
  bool ServerGives(const MemoryWanted& wanted, BlockId wanted_for);

  const Arena& arena_;
  Door& door_;
  Ledger& ledger_;
  PoolStreams& streams_;
  Growth& growth_;
  Tally& tally_;
  Watchers& watchers_;
  Blocks& blocks_;
  ShortageReporter reporter_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_BLOCK_MAKER_H_
