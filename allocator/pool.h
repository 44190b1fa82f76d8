// A pool: blocks at addresses that never move, checkpoints that cost nothing, memory that can
// leave.
//
//   reserved once:  | step region: follows checkpoints    | kept region: no restore touches it |
//   mapped:         |[piece][piece][ piece ]. . . . . . . |[piece]. . . . . . . . . . . . . .  |
//   placed:          b1 b2 .. b3 b4 ...                     k1 k2
//
// Placement is a function of the set of live blocks (placement.h), so the same calls from the same
// state give the same offsets on any machine, and restoring a checkpoint costs the blocks that
// differ (ledger.h). Physical memory follows placement in large pieces (piece_row.h). Bytes that
// another stream freed are ordered on the device, never by waiting (stream_table.h).
//
//   GRAPHTREE_ASSIGN_OR_RETURN(auto pool, Pool::Create(*device, {}));
//   GRAPHTREE_ASSIGN_OR_RETURN(Block block, pool->Allocate(1 << 20, *stream));
//   CheckpointId here = *pool->Take();
//   ...
//   pool->Restore(here, {.dying = {block.id}});
//
// While a capture is open on the device nothing is unmapped, given to the driver, queried or waited
// for: such work is queued (deferred.h), and done by the end of the capture's scope or by the next
// call behind it. Growing is allowed then, and so is restoring a pool that no capture uses.
//
// Streams are of the pool's device; one that goes is forgotten (stream_life.h). Threads: one at a
// time, told apart from two; streams may go, and Free come, on any. Cost: about 50 ns for both.
#ifndef GRAPHTREE_ALLOCATOR_POOL_H_
#define GRAPHTREE_ALLOCATOR_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/deferred.h"
#include "allocator/history.h"
#include "allocator/ledger.h"
#include "allocator/oom_report.h"
#include "allocator/piece_row.h"
#include "allocator/pool_debug.h"
#include "allocator/pool_types.h"
#include "allocator/queued_frees.h"
#include "allocator/stream_table.h"
#include "allocator/thread_guard.h"
#include "allocator/word_table.h"
#include "device/device.h"

namespace graphtree {

class CaptureScope;

class Pool {
 public:
  // `device` must outlive the pool.
  static absl::StatusOr<std::unique_ptr<Pool>> Create(Device& device, PoolOptions options);
  // Waits for the streams that used the pool, but for those that are capturing, and gives
  // everything back; while a capture is open it is left behind for later (left_behind.h). What is
  // still live is lost with it; Close says so first. Scopes that are open end as they are.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Waits for the pool's streams, and gives the memory back. Fails, with their tags, while blocks
  // are live, while something is pinned, and while a capture allocates from the pool; queued while
  // another is open. Afterwards every call is refused. Calling it again is fine.
  absl::Status Close();

  // Blocks. The bytes may be used on `stream` at once, and on others with UseOn.
  absl::StatusOr<Block> Allocate(uint64_t bytes, Stream& stream, const BlockOptions& options = {});
  // The region is the address's, and no guards are laid.
  absl::StatusOr<Block> AllocateAt(Address address, uint64_t bytes, Stream& stream,
                                   const BlockOptions& options = {});
  // From any thread. Refused, and nothing changed: twice, stale, of another pool. What another
  // thread frees stays freed, whatever becomes of a capture's scope that is open.
  absl::Status Free(BlockId id);
  // The same by whoever comes in next. A thread that called the pool before and may free while
  // another one calls it now frees like this: Free takes the last caller for the present one.
  absl::Status FreeLater(BlockId id);
  // Does what is queued of both now, and nothing else that waits for the next call.
  absl::Status FreeQueued();
  // From any thread: work on the stream may use any block that is queued now. Whoever comes in next
  // notes that before it frees them.
  void UsedLaterOn(const std::shared_ptr<StreamLife>& stream) { queued_.AddUser(stream); }
  // It looks the block up, so one thread at a time.
  absl::Status FreeAddress(Address address);
  // Work of `stream` uses the block too; whoever gets the bytes next waits for it.
  absl::Status UseOn(BlockId id, Stream& stream);
  // What was put on the stream so far is still awaited. Refused while it captures.
  absl::Status ForgetStream(Stream& stream);
  // The same for one that the pool keeps until it can be forgotten, if it captures or a call fails.
  void ForgetStream(std::unique_ptr<Stream> stream);
  // Waits for all work on the pool's memory.
  absl::Status WaitForStreams();
  // The same, and forgets every stream that could be waited for, and all if the device is lost, so
  // that the pool can outlive them. What it could not wait for stays, and is told.
  absl::Status WaitAndForgetStreams();
  // The live block that covers an address, rounded up to a quantum; NotFound if none does.
  absl::StatusOr<Block> Find(Address address) const;
  absl::StatusOr<Block> Describe(BlockId id) const;

  // Memory for the op that is launched next, as often as it needs some. All of it ends with
  // EndScratch, which whoever launches calls behind the op, and may then be placed again in the
  // order of `stream`; and at the latest with the next Take, Restore, Trim, Park or Close, or with
  // the capture's scope.
  absl::StatusOr<AddressRange> Scratch(uint64_t bytes, Stream& stream);
  void EndScratch();

  // Bytes that a graph reads which is captured and not launched yet, while their block is given to
  // others in the books: until Unshield a device that poisons fresh and freed bytes leaves them.
  void Shield(AddressRange range);
  void Unshield();

  // Kept where it lies: no restore takes the block away, until that is taken back. Blocks of the
  // kept region need no declaration, and it cannot be taken back from them.
  absl::Status SetKept(BlockId id, bool kept);

  // Checkpoints.
  absl::StatusOr<CheckpointId> Take();
  // Refused while a capture allocates from the pool: a scope of its own, or a stream that it knows.
  // The bytes of a block that comes back are what was written there last; Park(kToHost) keeps them,
  // and after Park(kDrop) they are anything.
  absl::Status Restore(CheckpointId checkpoint, const RestoreOptions& options = {});
  absl::Status Drop(CheckpointId checkpoint);
  // Whether the live blocks are exactly the checkpoint's.
  absl::StatusOr<bool> IsAt(CheckpointId checkpoint);
  // Whether the memory that was touched on the way to the checkpoint, temporaries too, is all there
  // and has not been trimmed away since. If not, a graph recorded on that way must not be launched.
  absl::StatusOr<bool> HasItsMemory(CheckpointId checkpoint);

  // A graph is launched on `stream` that uses memory which is free in the books. Called before the
  // launch, which must not be made if this fails.
  absl::Status NoteLaunch(Stream& stream);

  // Physical memory.
  //
  // Maps memory for `bytes` more from the end of a region, as far as there is any and the limit
  // allows; returns how much is missing, which is counted too.
  absl::StatusOr<uint64_t> ReserveAhead(uint64_t bytes, Region region = Region::kStep);
  // Gives back pieces in which nothing is live and which no checkpoint's way touched, until at most
  // `goal_bytes` are mapped. With `break_checkpoints` those that only checkpoints hold, too: a pool
  // that serves recordings refuses that. Returns what was, or later will be, released.
  absl::StatusOr<uint64_t> Trim(uint64_t goal_bytes, bool break_checkpoints = false);
  // Refused below what is live or, of a parked pool, would be woken.
  absl::Status SetLimit(uint64_t bytes);
  // Pieces under `range` are never unmapped until that very range is unpinned as often.
  absl::Status Pin(AddressRange range);
  absl::Status Unpin(AddressRange range);

  // Gives the physical memory back and keeps the addresses, of the whole pool, which then refuses
  // use until Wake, or of the pieces under the ranges; not of pinned ones, nor where a live block
  // has bytes outside of the ranges. Waits for the pool's streams; queued while a capture is open.
  absl::Status Park(ParkContents contents, absl::Span<const AddressRange> ranges = {});
  // All or nothing: if it fails everything is parked as it was. While a capture is open a wake that
  // has to write (contents, canaries) is queued.
  absl::Status Wake();
  bool is_parked() const { return parked_; }

  // Words for tags and notes. A word that no live block, no remembered one and no entry of the
  // history names may be forgotten once there are very many (word_table.h): ask for it again where
  // it is used again, with the number that it had: no hash as long as that one is good.
  WordId Word(absl::string_view text);
  WordId WordAgain(WordId before, absl::string_view text);
  absl::string_view Text(WordId word) const { return words_[word]; }
  // Goes into every entry of the history until it is changed.
  void SetContext(WordId word);
  absl::Status Annotate(BlockId id, absl::string_view note);

  // Debugging; see PoolDebug. A block that a restore brings back has its guards written anew: what
  // ran over them before that is told no more.
  absl::Status CheckCanaries(Stream& stream);
  // Waits for the pool's work and takes the access rights of pieces without a live block, so that a
  // stale use faults. Allocating gives them back. With seal_dead_memory only.
  absl::Status SealDeadMemory();

  // Notes in the history that a snapshot is taken. No other thread comes in while `look` looks at
  // the pool, which it must not change. What it throws is an error.
  absl::Status NoteSnapshot(const std::function<void()>& look);

  PoolStats Stats() const;
  uint64_t serial() const { return serial_; }  // tells the pools of a process apart
  const std::string& name() const { return options_.name; }
  Address base() const { return reserved_.base; }
  AddressRange range_of(Region region) const { return row(region).addresses(); }
  const History& history() const { return history_; }
  const OomReport& last_out_of_memory() const { return last_out_of_memory_; }
  // The first free from another thread that had to be refused; OK if none had.
  const absl::Status& first_refused_free() const { return first_refused_free_; }
  // The first call of a second thread that did nothing and could not say so: Word (which gave the
  // empty word), SetContext, Shield, Unshield. OK if there was none.
  absl::Status first_refused_call() const;
  // The first failure of queued work (a trim, a park, a close) that nobody waited for.
  const absl::Status& first_deferred_failure() const { return first_deferred_failure_; }
  Device& device() const { return device_; }
  DeferredQueue& deferred() { return deferred_; }
  const Ledger& ledger() const { return ledger_; }
  const PieceRow& row(Region region) const { return region == Region::kStep ? step_ : kept_; }

 private:
  friend class CaptureScope;
  static constexpr int kSectorShift = 24;  // footprints are kept in sectors of 16 MiB
  // In place of an alignment: the caller chose the address.
  static constexpr uint64_t kNotToBeMoved = ~uint64_t{0};
  static constexpr uint8_t kUsedByLive = 1;
  static constexpr uint8_t kUsedByCheckpoint = 2;

  Pool(Device& device, PoolOptions options, AddressRange reserved, uint64_t region_bytes);

  // True if a call must look more closely before it does its work.
  bool IsUnusual(const ThreadGuard::Entry& entry) const {
    return !entry.ok() || is_special_ || deferred_.is_pending() ||
           queued_.any() || has_abandoned_.load(std::memory_order_relaxed);
  }
  absl::Status EnterSlow(ThreadGuard::Entry::Kind entry);
  // Fails for a stream of another device, which no stream of this one can wait for.
  absl::Status CheckStream(const Stream& stream) const;
  // Keeps a refusal that cannot be returned.
  bool IsRefused(const ThreadGuard::Entry& entry, absl::string_view call);
  absl::Status IsClosed() const;
  // While the server is asked for memory an allocation is half done.
  absl::Status NotWhileAsking(absl::string_view what) const;
  void DrainDeferred();

  // pool.cc: allocating and freeing
  absl::Status ReleaseEverything();
  void LeaveEverythingBehind();
  absl::StatusOr<Block> Finish(const Allocation& got, uint64_t alignment, uint32_t number,
                               Stream& stream);
  absl::StatusOr<Block> AllocateByAsking(BlockRequest request, Stream& stream);
  absl::Status MakeUsable(const Allocation& got, uint64_t alignment, Stream& stream);
  bool IsShielded(AddressRange range) const;
  void TellOfAllocation(const BlockRecord& record);
  void TellOfLife(const BlockRecord& record);
  void TellOfFree(BlockId id, const BlockRecord& record);
  absl::Status WhyNotAllocated(AllocateOutcome outcome, const BlockRequest& request);
  absl::Status UsedWhileParked(absl::string_view what) const;
  absl::Status FreeNow(BlockId id);
  absl::Status FreeUnlessAsked(BlockId id);
  absl::Status WhyNotFreed(BlockId id, FreeOutcome outcome) const;
  absl::Status DrainQueuedFrees();
  void FreeScratch();

  // pool_blocks.cc: looking at blocks
  Block BlockOf(BlockId id) const;
  Address AddressOfQuantum(uint32_t quantum) const {
    return reserved_.base + uint64_t{quantum} * kQuantum;
  }
  AddressRange WholeRange(const BlockRecord& record) const {
    return {AddressOfQuantum(record.offset), uint64_t{record.length} * kQuantum};
  }
  // What the device is told to be live or dead.
  AddressRange ToldRange(const BlockRecord& record) const;
  std::string NameOf(const BlockRecord& record) const;
  void CountLive(const BlockRecord& record) {
    ++stats_.allocations;
    CountBack(record);
    CountPeaks();
  }
  void CountPeaks() {
    PoolStats& s = stats_;
    if (s.requested_bytes > s.peak_requested_bytes) s.peak_requested_bytes = s.requested_bytes;
    if (s.live_bytes > s.peak_live_bytes) s.peak_live_bytes = s.live_bytes;
  }
  // Live again after a restore: no allocation, and no peak.
  void CountBack(const BlockRecord& record) {
    ++stats_.live_blocks;
    stats_.requested_bytes += record.requested_bytes();
    stats_.live_bytes += uint64_t{record.length} * kQuantum;
  }
  void CountDead(const BlockRecord& record) {
    --stats_.live_blocks;
    stats_.requested_bytes -= record.requested_bytes();
    stats_.live_bytes -= uint64_t{record.length} * kQuantum;
  }
  void Log(HistoryAction action, const BlockRecord& record) {
    if (!history_.is_on()) return;
    LogEvent(action, AddressOfQuantum(record.user_offset()), record.requested_bytes(), &record);
  }
  void LogEvent(HistoryAction action, uint64_t address, uint64_t bytes, const BlockRecord* record);
  void FillHolders(OomReport* report) const;
  absl::Status ForgetGuests();
  std::vector<WordId> NamedWords() const;
  absl::Status DebugAllocated(const BlockRecord& record, Stream& stream);
  void DebugFreed(BlockId id, const BlockRecord& record);
  absl::Status WriteGuards(const BlockRecord& record, Stream& stream);
  void GuardAgain(const std::vector<uint32_t>& blocks);
  absl::Status ListGuards(Stream& stream, std::vector<PoolDebugger::Guard>* guards);
  absl::Status BehindItsUsers(const BlockRecord& record,
                              const std::function<absl::Status(Stream&)>& work);

  // pool_growth.cc: memory for what is allocated
  struct Shortage {
    uint64_t missing = 0;
    bool is_limit = false;  // the pool's own, not the device's
  };
  // What an allocation needs memory for, in bytes from the region's start.
  struct Extent {
    Region region;
    uint64_t begin;
    uint64_t end;
  };
  Extent ExtentOf(const BlockRecord& record) const {
    const uint64_t begin =
        uint64_t{record.offset - ledger_.region_begin(record.region)} * kQuantum;
    return {record.region, begin, begin + uint64_t{record.length} * kQuantum};
  }
  bool IsReady(const Extent& extent) const {
    return row(extent.region).IsReady(extent.begin, extent.end);
  }
  absl::Status Grow(const Extent& extent, Shortage* shortage);
  absl::Status GrowAfterReleasing(const Extent& extent, Shortage* shortage);
  // A block that is being made: where it lies may change until it can be used.
  struct Making {
    BlockId block;
    uint64_t alignment;
    Stream& stream;
    LastUse last_use;  // of the bytes where it lies now
    Shortage shortage;
  };
  // Where else it may lie.
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
  bool MoveTo(const Search& search, bool with_tail, Making* making);
  uint32_t FirstPlace(const Search& search, uint32_t begin, uint32_t end, LastUse last_use) const;
  bool IsBarred(const Extent& extent) const;
  // Asks it, once; false if nothing was given.
  bool ServerGives(const MemoryWanted& wanted, BlockId wanted_for);
  absl::Status AskServer(Making* making, absl::Status status);
  bool ReleaseForGrowth(uint64_t bytes);
  static bool IsShortage(const absl::Status& status);

  // pool_memory.cc: physical memory
  std::vector<uint8_t> PieceUses(Region region) const;
  uint64_t ReleaseFreePieces(uint64_t goal_bytes, bool break_checkpoints);
  // Of what is parked, with what nobody needs any more given up.
  uint64_t BytesToWake();
  absl::Status ReleasePiece(Region region, uint32_t index);
  absl::StatusOr<std::vector<Piece*>> PiecesUnder(AddressRange range);
  void FillFree(Region region, OomReport* report) const;
  absl::Status OutOfMemory(const BlockRequest& request, absl::string_view why, uint64_t missing,
                           const absl::Status& cause);
  PieceRow& row(Region region) { return region == Region::kStep ? step_ : kept_; }
  uint64_t mapped_bytes() const { return step_.mapped_bytes() + kept_.mapped_bytes(); }

  // pool_restore.cc: checkpoints
  absl::StatusOr<CheckpointTree::NodeId> NodeOf(CheckpointId id) const;
  absl::Status WhyNotRestored(const RestorePlan& plan) const;
  absl::Status CheckContents(const RestorePlan& plan) const;
  absl::Status RestoreNow(CheckpointId checkpoint, const RestoreOptions& options);
  void AdoptState();
  void TellDevice(const RestorePlan& plan);
  bool IsCapturedFrom();
  // What was mapped when a scope began: everything below `covered` but the holes (their offsets).
  struct Mapped {
    uint64_t covered = 0;
    std::vector<uint64_t> holes;
  };
  Mapped MappedNow(Region region) const;
  absl::Status ReturnGrowth(Region region, const Mapped& before);

  // pool_scope.cc: captures that may fail
  struct OpenScope {
    CaptureScope* handle;  // null if it went without an end
    CheckpointId start;
    Mapped step;
    Mapped kept;
    uint32_t kept_mark;               // of the watch on kept memory
    std::vector<BlockId> freed_elsewhere;  // by other threads, since it began
  };
  std::unique_ptr<OpenScope> EndInnermost();
  StreamLives Commit(const OpenScope& scope);
  absl::Status RollBack(const OpenScope& scope);
  absl::Status RollBackInnermost();
  void FreeAgain(const std::vector<BlockId>& freed_elsewhere);
  void Abandon(OpenScope* scope);
  void EndAbandonedScopes();

  // pool_park.cc: parking
  absl::Status ParkNow(ParkContents contents, const std::vector<AddressRange>& ranges);
  // Waits for all work on the pool's memory that it knows of.
  absl::Status Quiesce();
  // Which pieces go. `ranges` are in order and apart; none means all.
  std::vector<bool> PiecesToPark(Region region, const std::vector<AddressRange>& ranges) const;
  uint64_t parked_bytes() const;
  absl::Status ReleaseRow(Region region, uint32_t first, uint32_t behind);
  absl::Status ReleaseParked(Region region, const std::vector<AddressRange>& ranges);
  // By piece; null where nothing is saved.
  using Buffers = std::vector<std::unique_ptr<HostBuffer>>;
  absl::Status SaveContents(Region region, const std::vector<AddressRange>& ranges,
                            Buffers* saved);
  std::vector<AddressRange> PartsOfValue(Region region) const;
  absl::Status CopyParts(Region region, const std::vector<HostBuffer*>& buffers, bool to_host);
  absl::StatusOr<Stream*> CopyStream();
  bool MustWriteToWake() const;
  absl::Status WakeAll();
  absl::Status WakeNow();
  absl::Status WakePieces(Region region);
  absl::Status BringBack(Region region);
  absl::Status RewriteCanaries();
  void ParkAgain(Region region, const std::vector<bool>& was_mapped);

  Device& device_;
  const PoolOptions options_;
  const AddressRange reserved_;
  const uint64_t region_bytes_;
  const uint64_t serial_;    // tells the pools of a process apart
  const bool tells_device_;  // of live and dead bytes: the host device checks them

  mutable ThreadGuard guard_;
  bool is_special_ = false;  // closed, closing or asking
  bool parked_ = false;
  bool closed_ = false;
  bool closing_ = false;       // once the open capture has ended
  bool asks_server_ = false;   // right now, for memory
  BlockId asked_for_;          // the block that is not made yet; none if it has no place
  QueuedFrees queued_;
  std::atomic<bool> has_abandoned_{false};
  Ledger ledger_;
  PieceRow step_;
  PieceRow kept_;
  mutable std::mutex queue_mutex_;
  // Guarded by queue_mutex_:
  std::vector<OpenScope*> abandoned_;            // scopes to be rolled back by the next call
  std::vector<std::unique_ptr<Stream>> guests_;  // until they can be forgotten
  absl::Status first_refused_call_;
  StreamTable streams_;
  DeferredQueue deferred_;
  History history_;
  WordTable words_;
  const WordId scratch_word_ = words_.Add("scratch");
  PoolDebugger debugger_;
  const bool is_watched_;  // by a history, a device that checks, or a debug mode
  PoolStats stats_;
  OomReport last_out_of_memory_;
  absl::Status first_refused_free_;
  absl::Status first_deferred_failure_;
  RestorePlan plan_;
  WordId context_ = 0;
  uint16_t internal_mark_ = 0;  // of what is logged next
  uint64_t limit_bytes_ = 0;
  uint64_t clock_ = 0;  // counts pieces whose contents were lost
  std::vector<BlockId> scratch_;
  std::vector<AddressRange> shielded_;
  std::vector<std::unique_ptr<OpenScope>> scopes_;  // innermost last
  std::vector<AddressRange> pins_;
  std::unique_ptr<Stream> copy_stream_;
  Buffers unsettled_;  // of copies on that stream that could not be awaited
};

// A capture whose allocations come from a pool. If it is not committed, the pool goes back to what
// it was, step region and kept region, silently like a restore, and the memory that it grew by goes
// back to the driver. (A device that checks has poisoned the bytes of what was freed meanwhile.)
//
//   GRAPHTREE_ASSIGN_OR_RETURN(auto scope, CaptureScope::Begin(*pool));   // before BeginCapture
//   ... BeginCapture, the function, EndCapture ...
//   StreamLives first = scope->Commit();   // launches of the graph wait for these
//
// Scopes nest; one that ends takes those along that began inside it. What must wait for captures
// waits for scopes too, and is done by the end of the last. A scope that goes while it cannot be
// rolled back (its pool asks the server for memory) is rolled back by the pool's next call.
class CaptureScope {
 public:
  static absl::StatusOr<std::unique_ptr<CaptureScope>> Begin(Pool& pool);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  // The streams whose earlier work used memory that the graph may use. Hold the pool's deferred()
  // to launch the graph before what was queued meanwhile is done. They may be the pool's own, which
  // goes with it.
  StreamLives Commit();
  // Those so far, of a scope that goes on: for a graph of it that is launched inside it.
  StreamLives Awaited() const;
  // What the destructor does where Commit was not called. Memory that cannot be given back stays.
  absl::Status RollBack();

 private:
  friend class Pool;
  explicit CaptureScope(Pool* pool) : pool_(pool) {}

  Pool* pool_;                        // null once it is gone
  Pool::OpenScope* open_ = nullptr;   // null once it has ended
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_POOL_H_
