// A pool's blocks as their callers name them: by handle, or by an address that lies inside.
//
//   Free(b2)          live --> dead: another block may have the bytes at once
//   FreeLater(b3)     queued by another thread (waiting_work.h)
//                        \--> freed by the next call; noted in the innermost open scope, so that a
//                             capture that is rolled back does not bring it back
//
// A handle that is stale, of another pool, or freed already is refused in words.
//
// Threads: as the pool. Cost of a free: a few nanoseconds beside what placement takes.
#ifndef GRAPHTREE_ALLOCATOR_POOL_BLOCKS_H_
#define GRAPHTREE_ALLOCATOR_POOL_BLOCKS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/books/block_record.h"
#include "allocator/books/ledger.h"
#include "allocator/order/stream_table.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/door.h"
#include "allocator/pool/journal.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/tally.h"
#include "allocator/pool/watchers.h"
#include "allocator/pool_types.h"
#include "device/stream.h"

namespace graphtree {

class Blocks {
 public:
  Blocks(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams, Journal& journal,
         Tally& tally, Watchers& watchers);
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // For the pool's callers, who find these described in pool.h.
  absl::StatusOr<Block> Find(Address address) const;
  absl::StatusOr<Block> Describe(BlockId id) const;
  absl::Status UseOn(BlockId id, Stream& stream);
  absl::Status Annotate(BlockId id, absl::string_view note);

  // For the pool's other parts, inside of a call.
  Block BlockOf(BlockId id) const {
    return {id, arena_.UserRange(ledger_.record(id.index))};
  }
  absl::Status Free(BlockId id);
  absl::Status WhyNotFreed(BlockId id, HandleState outcome) const;
  // Frees a live block. Static, with the parts as arguments: the pool reaches its parts directly,
  // which is faster than going through this object.
  [[gnu::always_inline]] static void FreeLive(BlockId id, Ledger& ledger, PoolStreams& streams,
                                              Tally& tally, Watchers& watchers) {
    const BlockRecord& record = ledger.record(id.index);
    if (watchers.any()) watchers.TellOfFree(id, record);
    tally.CountFreed(record);
    StreamTable& table = streams.table();
    if (record.streams != table.last_bit()) {
      table.NoteFreed(record.streams, QuantaOf(record));
    }
    ledger.FreeLive(id, table.now());
  }

  // Frees what other threads queued, after noting which streams may still use it. A wrong free is
  // counted, and the first one's error is kept.
  absl::Status FreeQueued();
  const absl::Status& first_refused_free() const { return first_refused_free_; }
  // FreeQueued adds the blocks that it frees to `list`; null: to no list.
  void ListQueuedFreesIn(std::vector<BlockId>* list) { freed_elsewhere_ = list; }
  // Frees blocks that a rollback has brought back though another thread had freed them: that thread
  // does not know of the capture, and will not free them again. Counts nothing, as the first free
  // was counted.
  void FreeAgain(const std::vector<BlockId>& freed_elsewhere);

 private:
  const Arena& arena_;
  Door& door_;
  Ledger& ledger_;
  PoolStreams& streams_;
  Journal& journal_;
  Tally& tally_;
  Watchers& watchers_;
  std::vector<BlockId>* freed_elsewhere_ = nullptr;
  absl::Status first_refused_free_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_BLOCKS_H_
