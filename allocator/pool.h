// A pool: blocks at addresses that never move, checkpoints that cost nothing, memory that can
// leave.
//
//   reserved once:  | step region: follows checkpoints    | lasting region: no restore touches it |
//   mapped:         |[piece][piece][ piece ]. . . . . . . |[piece]. . . . . . . . . . . . . . . . |
//   placed:          b1 b2 .. b3 b4 ...                     k1 k2
//
// Placement is a function of the set of live blocks (placement.h), so the same calls from the same
// state give the same offsets on any machine, and restoring a checkpoint costs the blocks that
// differ (ledger.h). Physical memory follows placement in large pieces (piece_row.h). Bytes that
// another stream freed are ordered on the device, never by waiting (stream_table.h).
//
//   GRAPHTREE_ASSIGN_OR_RETURN(auto pool, Pool::Create(*device, {}));
//   GRAPHTREE_ASSIGN_OR_RETURN(Block block, pool->Allocate(1 << 20, *stream));
//   CheckpointId here = *pool->checkpoints().Take();
//   ...
//   pool->checkpoints().Restore(here, {.dying = {block.id}});
//
// The pool allocates and frees. Everything else is done by its parts, each with a header of its
// own; a part knows those above it:
//
//   arena         its device, options and addresses              never changes
//   door          which call may begin, what is done before      thread_guard.h, waiting_work.h
//   ledger        the books: which block lies where
//   tally         counts
//   journal       words, history
//   streams       whose work uses the memory
//   growth        pieces are mapped and unmapped
//   watchers      the device, history and debug modes are told
//   blocks        looking blocks up, freeing them
//   maker         memory and order for a new block
//   parking       memory leaves and comes back
//   memory        limits, trimming, pins
//   checkpoints   going back
//   scopes        captures that may fail
//
// While a capture is open on the device the pool unmaps nothing, gives the driver nothing back, and
// neither queries nor waits for anything: such work is queued, and done by the end of the capture's
// scope or by the next call after it. The pool may grow meanwhile, and a pool that no capture uses
// may be restored.
//
// Streams are of the pool's device, and may be destroyed at any time (stream_life.h).
//
// Threads: one at a time; a second one that comes in is refused. Free may be called, and streams
// may be destroyed, on any thread. Cost: an allocation and its free take about 50 ns together.
#ifndef GRAPHTREE_ALLOCATOR_POOL_H_
#define GRAPHTREE_ALLOCATOR_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/books/ledger.h"
#include "allocator/memory/piece_row.h"
#include "allocator/order/deferred.h"
#include "allocator/pool/arena.h"
#include "allocator/pool/block_maker.h"
#include "allocator/pool/blocks.h"
#include "allocator/pool/checkpoints.h"
#include "allocator/pool/door.h"
#include "allocator/pool/growth.h"
#include "allocator/pool/journal.h"
#include "allocator/pool/memory_budget.h"
#include "allocator/pool/parking.h"
#include "allocator/pool/pool_streams.h"
#include "allocator/pool/scopes.h"
#include "allocator/pool/tally.h"
#include "allocator/pool/watchers.h"
#include "allocator/pool_types.h"
#include "allocator/reports/oom_report.h"
#include "device/device.h"
#include "device/stream.h"

namespace graphtree {

class Pool {
 public:
  // `device` must outlive the pool.
  static absl::StatusOr<std::unique_ptr<Pool>> Create(Device& device, PoolOptions options);
  // Waits for the streams that used the pool, but for those that are capturing, and gives
  // everything back. While a capture is open everything is left with the device
  // (device/leftovers.h). Blocks that are still live are lost: Close, called before, would name
  // them. Open scopes end as they are.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Waits for the pool's streams, and gives the memory back. Fails while blocks are live (and names
  // their tags), while something is pinned, and while a capture allocates from the pool; is queued
  // while another capture is open. Afterwards every call is refused, but Close may be called again.
  absl::Status Close();

  // Blocks. The bytes may be used on `stream` at once, and on others with UseOn.
  absl::StatusOr<Block> Allocate(uint64_t bytes, Stream& stream, const BlockOptions& options = {});
  // At the address that the caller chose, which says the region, too. No guards are laid.
  absl::StatusOr<Block> AllocateAt(Address address, uint64_t bytes, Stream& stream,
                                   const BlockOptions& options = {});
  // From any thread. A free that comes twice, or whose handle is stale or of another pool, is
  // refused and changes nothing. What another thread frees stays freed, whatever becomes of a
  // capture's scope that is open.
  absl::Status Free(BlockId id);
  // From any thread: queues the block, which the pool's next call frees. Free does the same, unless
  // this thread made the pool's last call. A thread that made it has to use FreeLater where another
  // thread may be calling the pool by now.
  absl::Status FreeLater(BlockId id);
  // Frees what other threads have queued. Other work that waits for the next call goes on waiting.
  absl::Status FreeQueued();
  // From any thread: work on the stream may use any block that is queued to be freed now. The
  // pool's next call notes that before it frees them.
  void UsedLaterOn(const std::shared_ptr<StreamLife>& stream) {
    door_.waiting().frees().AddUser(stream);
  }
  // Not from any thread, unlike Free: finding the block reads the books.
  absl::Status FreeAddress(Address address);
  // Work of `stream` uses the block too; whoever gets the bytes next waits for it.
  absl::Status UseOn(BlockId id, Stream& stream) { return blocks_.UseOn(id, stream); }
  // The live block that covers an address, rounded up to a quantum; NotFound if none does.
  absl::StatusOr<Block> Find(Address address) const { return blocks_.Find(address); }
  absl::StatusOr<Block> Describe(BlockId id) const { return blocks_.Describe(id); }
  absl::Status Annotate(BlockId id, absl::string_view note) { return blocks_.Annotate(id, note); }

  // The parts. Each header has first what the pool's callers may use.
  Checkpoints& checkpoints() { return checkpoints_; }
  Scopes& scopes() { return scopes_; }
  MemoryBudget& memory() { return memory_; }
  Parking& parking() { return parking_; }
  const Parking& parking() const { return parking_; }
  PoolStreams& streams() { return streams_; }
  Journal& journal() { return journal_; }
  const Journal& journal() const { return journal_; }
  Watchers& watchers() { return watchers_; }
  DeferredQueue& deferred() { return door_.waiting().deferred(); }

  // What the pool tells of itself.
  const Arena& arena() const { return arena_; }
  const Ledger& ledger() const { return ledger_; }
  const PieceRow& row(Region region) const { return growth_.row(region); }
  PoolStats Stats() const;
  // Physical memory that it has just now. From any thread, at any time.
  uint64_t mapped_bytes() const { return growth_.mapped_bytes(); }
  const OomReport& last_out_of_memory() const { return maker_.reporter().last(); }
  PoolFailures failures() const;
  // Notes in the history that a snapshot is taken, and calls `look`, which reads the pool and must
  // not change it; other threads are refused meanwhile. Fails if `look` throws.
  absl::Status NoteSnapshot(const std::function<void()>& look);

 private:
  explicit Pool(Arena arena);
  absl::Status DoWhatWaits(const Door::Entry& entry);
  absl::StatusOr<Block> Finish(const Allocation& got, uint64_t alignment, uint32_t number,
                               Stream& stream);
  absl::StatusOr<Block> AllocateByAsking(BlockRequest request, Stream& stream);
  absl::Status WhyNotClosed() const;
  void LeaveEverythingBehind();
  // OK once no work uses the memory.
  absl::Status AwaitWork();
  absl::Status ReleaseEverything();

  // For any thread.
  const Arena arena_;
  Door door_;
  // For the thread inside of the pool. Held by value: allocating and freeing reach each directly.
  Ledger ledger_;
  Tally tally_;
  Journal journal_;
  PoolStreams streams_;
  Growth growth_;
  Watchers watchers_;
  Blocks blocks_;
  BlockMaker maker_;
  Parking parking_;
  MemoryBudget memory_;
  Checkpoints checkpoints_;
  Scopes scopes_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_H_
