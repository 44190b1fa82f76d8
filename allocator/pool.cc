// Making and closing a pool, allocating and freeing.
#include "allocator/pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/left_behind.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

std::atomic<uint64_t> next_serial{1};

constexpr uint64_t kMostQuanta = uint64_t{1} << 31;  // of one region: 1 TiB

// Differs in its highest bits for pools that follow each other, while generations count up from the
// lowest: no handle of one is by chance one of the other.
uint32_t SaltOf(uint64_t serial) {
  uint32_t salt = 0;
  for (int bit = 0; bit < 32; ++bit) salt |= static_cast<uint32_t>(serial >> bit & 1) << (31 - bit);
  return salt;
}

constexpr uint64_t kMostHistoryEntries = uint64_t{1} << 24;  // 640 MiB

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Large alignments then mean the same offsets in every process; where there are no such addresses
// they mean others (placement.h). A wish is worth more.
absl::StatusOr<AddressRange> ReserveArena(Memory& memory, uint64_t bytes, Address wished_base) {
  constexpr uint64_t kArenaAlignment = uint64_t{1} << 30;
  if (wished_base % kArenaAlignment == 0) {
    absl::StatusOr<AddressRange> aligned =
        memory.Reserve(bytes, {.alignment = kArenaAlignment, .wished_base = wished_base});
    if (aligned.ok()) return aligned;
  }
  return memory.Reserve(bytes, {.alignment = 0, .wished_base = wished_base});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pool>> Pool::Create(Device& device, PoolOptions options) {
  LeftBehind::Release(device).IgnoreError();
  Memory& memory = device.memory();
  if (options.history_entries > kMostHistoryEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("a history of ", options.history_entries, " entries; at most ",
                     kMostHistoryEntries, " are kept"));
  }
  uint64_t region_bytes = options.address_bytes;
  if (region_bytes == 0) {
    region_bytes = device.info().total_bytes;
    if (region_bytes == 0) {
      GRAPHTREE_ASSIGN_OR_RETURN(const MemoryInfo info, memory.Info());
      region_bytes = info.total_bytes;
    }
    region_bytes = std::min(2 * region_bytes, kMostQuanta / 2 * kQuantum);
  }
  const uint64_t unit = std::max<uint64_t>(memory.granularity(), kQuantum);
  if (region_bytes > kMostQuanta * kQuantum - unit) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pool of ", region_bytes, " bytes of addresses for each region; at most ",
                     kMostQuanta * kQuantum - unit, " are supported"));
  }
  region_bytes = RoundUp(std::max(region_bytes, unit), unit);
  GRAPHTREE_ASSIGN_OR_RETURN(
      const AddressRange reserved,
      ReserveArena(memory, 2 * region_bytes, options.wished_base));
  auto pool =
      std::unique_ptr<Pool>(new Pool(device, std::move(options), reserved, region_bytes));
  if (pool->options_.initial_bytes > 0) {
    GRAPHTREE_RETURN_IF_ERROR(pool->ReserveAhead(pool->options_.initial_bytes).status());
  }
  return pool;
}

Pool::Pool(Device& device, PoolOptions options, AddressRange reserved, uint64_t region_bytes)
    : device_(device),
      options_(std::move(options)),
      reserved_(reserved),
      region_bytes_(region_bytes),
      serial_(next_serial.fetch_add(1)),
      tells_device_(options_.tell_device && device.info().checks_accesses),
      ledger_(static_cast<uint32_t>(region_bytes / kQuantum),
              static_cast<uint32_t>(region_bytes / kQuantum),
              static_cast<uint32_t>(region_bytes / kQuantum), SaltOf(serial_),
              reserved.base / kQuantum),
      step_(&device.memory(), {reserved.base, region_bytes}),
      kept_(&device.memory(), {reserved.base + region_bytes, region_bytes}),
      streams_(&device),
      deferred_(&device),
      history_(options_.history_entries),
      debugger_(&device, options_.debug),
      is_watched_(tells_device_ || history_.is_on() || debugger_.any()),
      limit_bytes_(options_.limit_bytes) {
  stats_.address_bytes = reserved.bytes;
}

Pool::~Pool() {
  for (const std::unique_ptr<OpenScope>& scope : scopes_) {
    if (scope->handle == nullptr) continue;
    scope->handle->open_ = nullptr;
    scope->handle->pool_ = nullptr;
  }
  if (!closed_ && device_.open_captures() > 0) {
    LeaveEverythingBehind();
    return;
  }
  // A call that failed once may work the next time; what cannot be released is named when the
  // device is closed.
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts && !closed_ && !Quiesce().ok();) ++attempt;
  for (int attempt = 0; attempt < kAttempts && !closed_; ++attempt) {
    ReleaseEverything().IgnoreError();
  }
  LeftBehind::Release(device_).IgnoreError();
}

void Pool::LeaveEverythingBehind() {
  auto estate = std::make_unique<LeftBehind::Estate>();
  estate->device = &device_;
  estate->reserved = reserved_;
  estate->mappings = step_.TakeMappings();
  for (PieceRow::Mapping& mapping : kept_.TakeMappings()) {
    estate->mappings.push_back(std::move(mapping));
  }
  if (auto courier = streams_.CarryAll()) estate->streams.push_back(std::move(courier));
  if (copy_stream_ != nullptr) estate->streams.push_back(std::move(copy_stream_));
  estate->buffers = std::move(unsettled_);
  LeftBehind::Add(std::move(estate));
}

absl::Status Pool::ReleaseEverything() {
  GRAPHTREE_RETURN_IF_ERROR(step_.ReleaseAll());
  GRAPHTREE_RETURN_IF_ERROR(kept_.ReleaseAll());
  GRAPHTREE_RETURN_IF_ERROR(device_.memory().Release(reserved_));
  closed_ = is_special_ = true;
  queued_.Stop();
  return absl::OkStatus();
}

absl::Status Pool::Close() {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  if (asks_server_) return NotWhileAsking("close");
  if (entry.is_outermost()) EndAbandonedScopes();
  if (!scopes_.empty()) {
    return absl::FailedPreconditionError("a pool is closed while a capture allocates from it");
  }
  GRAPHTREE_RETURN_IF_ERROR(deferred_.Drain());
  if (closed_ || (closing_ && deferred_.must_wait())) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(DrainQueuedFrees());
  FreeScratch();
  const PoolStats stats = Stats();
  if (stats.live_blocks > 0) {
    OomReport holders;
    FillHolders(&holders);
    return absl::FailedPreconditionError(absl::StrCat(
        "pool \"", options_.name, "\" is closed with ", stats.live_blocks, " live blocks (",
        FormatBytes(stats.live_bytes), "), most of them tagged \"", holders.holders.front().tag,
        "\". Free them first."));
  }
  if (step_.pinned_count() + kept_.pinned_count() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("pool \"", options_.name, "\" is closed with ",
                     step_.pinned_count() + kept_.pinned_count(),
                     " pinned pieces: somebody has registered their memory. Unpin them first."));
  }
  closing_ = is_special_ = true;
  queued_.Stop();
  return deferred_.Do("close the pool", [this] {
    // Freed bytes may still be in use by queued work. A device that is lost runs none any more.
    Quiesce().IgnoreError();
    LeftBehind::Release(device_).IgnoreError();
    return ReleaseEverything();
  });
}

// What is not the usual case.
absl::Status Pool::EnterSlow(ThreadGuard::Entry::Kind entry) {
  using Entry = ThreadGuard::Entry;
  if (entry == Entry::Kind::kSecondThread) return Entry::TwoThreads();
  // Not from a callback: the call around it has begun already.
  if (entry == Entry::Kind::kOutermost) {
    EndAbandonedScopes();
    DrainDeferred();
  }
  return closed_ || closing_ ? IsClosed() : DrainQueuedFrees();
}

absl::Status Pool::IsClosed() const {
  return absl::FailedPreconditionError(absl::StrCat("pool \"", options_.name, "\" is closed"));
}

void Pool::DrainDeferred() {
  if (!deferred_.is_pending()) return;
  const absl::Status status = deferred_.Drain();
  if (!status.ok() && first_deferred_failure_.ok()) first_deferred_failure_ = status;
}

absl::Status Pool::NotWhileAsking(absl::string_view what) const {
  return absl::FailedPreconditionError(
      absl::StrCat("pool \"", options_.name, "\" asks for memory and an allocation is half done: ",
                   "its callback may not ", what, " it. Free, drop checkpoints or trim."));
}

// The block is placed; now it gets memory, and its order behind the bytes' earlier users. If either
// fails the books go back to what they were.
[[gnu::always_inline]] inline absl::StatusOr<Block> Pool::Finish(const Allocation& got,
                                                                 uint64_t alignment,
                                                                 uint32_t number, Stream& stream) {
  const uint32_t index = got.block.index;
  Extent extent = ExtentOf(ledger_.record(index));
  if (!IsReady(extent) || debugger_.any() || streams_.MustOrder(number, got.last_use)) {
    GRAPHTREE_RETURN_IF_ERROR(MakeUsable(got, alignment, stream));
    extent = ExtentOf(ledger_.record(index));  // it may have been moved to where memory is
  }
  if (extent.region == Region::kStep && ledger_.notes_places()) {
    const uint64_t last = (extent.end - 1) >> kSectorShift;
    for (uint64_t s = extent.begin >> kSectorShift; s <= last; ++s) {
      ledger_.Touch(static_cast<uint32_t>(s));
    }
  }
  // Looked up again: the server may have been asked for memory, and may have called back.
  const BlockRecord& live = ledger_.record(index);
  CountLive(live);
  if (is_watched_) TellOfAllocation(live);
  // Built where it is returned: a copy would wait for the narrow stores that just made it.
  absl::StatusOr<Block> result{absl::in_place};
  result->id.index = index;
  result->id.generation = got.block.generation;
  result->range.base = AddressOfQuantum(live.user_offset());
  result->range.bytes = live.requested_bytes();
  return result;
}

absl::StatusOr<Block> Pool::Allocate(uint64_t bytes, Stream& stream, const BlockOptions& options) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (parked_) return UsedWhileParked("allocate");
  if (!streams_.IsLast(stream)) GRAPHTREE_RETURN_IF_ERROR(CheckStream(stream));
  const uint32_t number = streams_.NumberOf(stream);
  const BlockRequest request = {.bytes = bytes,
                                .alignment = options.alignment,
                                .region = options.region,
                                .guarded = options_.debug.guard_gaps || options_.debug.canaries,
                                .streams = 1u << number,
                                .tag = options.tag,
                                .note = options.note};
  const Allocation got = ledger_.Allocate(request);
  if (got.outcome == AllocateOutcome::kOutOfSpace) return AllocateByAsking(request, stream);
  if (got.outcome != AllocateOutcome::kAllocated) return WhyNotAllocated(got.outcome, request);
  return Finish(got, options.alignment, number, stream);
}

// Addresses are used up. There is no place for the block yet, so whatever the server does to the
// pool is fine; it may have forgotten streams.
absl::StatusOr<Block> Pool::AllocateByAsking(BlockRequest request, Stream& stream) {
  for (int attempt = 0; ServerGives({request.bytes, /*missing=*/0, attempt}, {}); ++attempt) {
    const uint32_t number = streams_.NumberOf(stream);
    request.streams = 1u << number;
    const Allocation got = ledger_.Allocate(request);
    if (got.outcome != AllocateOutcome::kAllocated) continue;
    return Finish(got, request.alignment, number, stream);
  }
  return WhyNotAllocated(AllocateOutcome::kOutOfSpace, request);
}

absl::StatusOr<Block> Pool::AllocateAt(Address address, uint64_t bytes, Stream& stream,
                                       const BlockOptions& options) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (parked_) return UsedWhileParked("allocate");
  if (!reserved_.Contains(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("address ", address, " is not one of pool \"", options_.name, "\": it has [",
                     reserved_.base, ", ", reserved_.end(), ")"));
  }
  if (options.alignment != 0 && address % options.alignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat("address ", address, " is not aligned to ",
                                                   options.alignment, " bytes, as was asked for"));
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(stream));
  const uint64_t offset = address - reserved_.base;
  const uint32_t number = streams_.NumberOf(stream);
  const BlockRequest request = {.bytes = bytes,
                                .alignment = options.alignment,
                                .region = offset < region_bytes_ ? Region::kStep : Region::kKept,
                                .streams = 1u << number,
                                .tag = options.tag,
                                .note = options.note};
  const Allocation got = ledger_.AllocateAt(offset, request);
  if (got.outcome == AllocateOutcome::kAllocated) {
    internal_mark_ = kAtAddressMark;
    absl::StatusOr<Block> block = Finish(got, kNotToBeMoved, number, stream);
    internal_mark_ = 0;
    return block;
  }
  if (got.outcome == AllocateOutcome::kOccupied) {
    return absl::AlreadyExistsError(
        absl::StrCat("at address ", address, " not all of ", bytes, " bytes are free"));
  }
  return WhyNotAllocated(got.outcome, request);
}

absl::Status Pool::WhyNotAllocated(AllocateOutcome outcome, const BlockRequest& request) {
  switch (outcome) {
    case AllocateOutcome::kTooLarge:
      return absl::InvalidArgumentError(
          absl::StrCat("a block of ", request.bytes, " bytes aligned to ", request.alignment,
                       ": the size overflows what a pool can address"));
    case AllocateOutcome::kBadAlignment:
      return absl::InvalidArgumentError(
          absl::StrCat("alignment ", request.alignment,
                       " is not a power of two, or the address no multiple of ", kQuantum));
    default:
      return OutOfMemory(request, "the region's addresses are used up", 0, absl::OkStatus());
  }
}

absl::Status Pool::UsedWhileParked(absl::string_view what) const {
  return absl::FailedPreconditionError(absl::StrCat(
      "pool \"", options_.name, "\" is parked: ", what, " needs its memory. Call Wake first."));
}

// All that is not the usual case of Finish.
absl::Status Pool::MakeUsable(const Allocation& got, uint64_t alignment, Stream& stream) {
  const uint32_t index = got.block.index;
  const BlockRequest request = {.bytes = ledger_.record(index).requested_bytes(),
                                .region = ledger_.record(index).region};
  Making making = {got.block, alignment, stream, got.last_use, {}};
  absl::Status status = MakeReady(&making);
  if (status.ok() && debugger_.any()) {
    status = DebugAllocated(ledger_.record(index), stream);
    // A part of the guards may be on its way.
    if (!status.ok()) making.last_use.Merge({1u << streams_.NumberOf(stream), streams_.now()});
  }
  if (status.ok()) return status;
  ledger_.mutable_record(index).streams = making.last_use.streams;
  ledger_.Free(got.block, making.last_use.time);
  if (!IsShortage(status)) return status;
  return OutOfMemory(request,
                     making.shortage.is_limit ? "the pool's limit is reached"
                                              : "the device has no more",
                     making.shortage.missing, status);
}

void Pool::TellOfAllocation(const BlockRecord& record) {
  Log(HistoryAction::kAllocate, record);
  // A block with canaries was told of before they were written.
  if (!(debugger_.modes().canaries && record.guard != 0)) TellOfLife(record);
}

void Pool::TellOfLife(const BlockRecord& record) {
  if (!tells_device_) return;
  const AddressRange range = ToldRange(record);
  if (IsShielded(range)) {
    device_.memory().NoteRevived(range, words_[record.tag]);
  } else {
    device_.memory().NoteLive(range, words_[record.tag]);
  }
}

bool Pool::IsShielded(AddressRange range) const {
  return std::any_of(shielded_.begin(), shielded_.end(),
                     [range](AddressRange shield) { return shield.Overlaps(range); });
}

absl::Status Pool::Free(BlockId id) {
  if (!guard_.IsOwner()) return FreeLater(id);
  const ThreadGuard::Entry entry(guard_);
  if (!IsUnusual(entry)) return FreeNow(id);
  GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  return FreeUnlessAsked(id);
}

absl::Status Pool::FreeLater(BlockId id) {
  return queued_.Add(id) ? absl::OkStatus() : IsClosed();
}

absl::Status Pool::FreeQueued() {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  return closed_ || closing_ ? IsClosed() : DrainQueuedFrees();
}

absl::Status Pool::FreeUnlessAsked(BlockId id) {
  if (asks_server_ && id == asked_for_) {
    return absl::FailedPreconditionError(
        absl::StrCat("block ", id.index, " is the one that the server is asked for memory for"));
  }
  return FreeNow(id);
}

absl::Status Pool::FreeNow(BlockId id) {
  const FreeOutcome outcome = ledger_.Check(id);
  if (outcome != FreeOutcome::kFreed) return WhyNotFreed(id, outcome);
  const BlockRecord& record = ledger_.record(id.index);
  if (is_watched_) TellOfFree(id, record);
  CountDead(record);
  ++stats_.frees;
  ledger_.FreeLive(id, streams_.now());
  return absl::OkStatus();
}

void Pool::TellOfFree(BlockId id, const BlockRecord& record) {
  if (debugger_.any()) DebugFreed(id, record);
  Log(HistoryAction::kFreeRequested, record);
  if (tells_device_ && !IsShielded(ToldRange(record))) {
    device_.memory().NoteDead(ToldRange(record), words_[record.tag]);
  }
  Log(HistoryAction::kFreeCompleted, record);
}

absl::Status Pool::WhyNotFreed(BlockId id, FreeOutcome outcome) const {
  const std::string who = debugger_.WhoFreed(id);
  const std::string by = who.empty() ? "" : absl::StrCat(" It was freed ", who, ".");
  switch (outcome) {
    case FreeOutcome::kUnknown:
      return absl::InvalidArgumentError(absl::StrCat("block ", id.index, " is not one of pool \"",
                                                     options_.name, "\""));
    case FreeOutcome::kStale:
      return absl::FailedPreconditionError(
          absl::StrCat("block ", id.index, " of generation ", id.generation,
                       " was freed before, or is of another pool; in pool \"", options_.name,
                       "\" its record is of generation ", ledger_.IdOf(id.index).generation, ".",
                       by));
    default:
      return absl::FailedPreconditionError(absl::StrCat(
          "block ", id.index, " is freed already; a checkpoint remembers it.", by));
  }
}

absl::Status Pool::FreeAddress(Address address) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  GRAPHTREE_ASSIGN_OR_RETURN(const Block block, Find(address));
  if (block.range.base != address) {
    return absl::InvalidArgumentError(
        absl::StrCat("address ", address, " lies inside a block that begins at ",
                     block.range.base, ": free that"));
  }
  return Free(block.id);
}

// From other threads. One that was wrong is told once, to whoever comes next and cares to look.
absl::Status Pool::DrainQueuedFrees() {
  if (!queued_.any()) return absl::OkStatus();
  const QueuedFrees::Taken queued = queued_.Take();
  for (const std::shared_ptr<StreamLife>& user : queued.users) {
    const absl::Status noted = user->Use([this](Stream& stream) {
      GRAPHTREE_RETURN_IF_ERROR(CheckStream(stream));
      streams_.UsedEverywhereOn(streams_.NumberOf(stream));
      return absl::OkStatus();
    });
    // The stream is gone, or another device object's.
    if (!noted.ok()) user->Synchronize().IgnoreError();
  }
  for (BlockId id : queued.blocks) {
    const absl::Status status = FreeUnlessAsked(id);
    if (status.ok() && !scopes_.empty()) scopes_.back()->freed_elsewhere.push_back(id);
    if (status.ok()) continue;
    ++stats_.refused_queued_frees;
    if (first_refused_free_.ok()) first_refused_free_ = status;
  }
  return absl::OkStatus();
}

absl::StatusOr<AddressRange> Pool::Scratch(uint64_t bytes, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Block block, Allocate(bytes, stream, {.tag = scratch_word_}));
  scratch_.push_back(block.id);
  return block.range;
}

void Pool::EndScratch() {
  if (scratch_.empty()) return;
  const ThreadGuard::Entry entry(guard_);
  if (entry.ok()) FreeScratch();
}

void Pool::FreeScratch() {
  while (!scratch_.empty()) {
    const BlockId id = scratch_.back();
    scratch_.pop_back();
    // A restore may have taken it away already.
    FreeNow(id).IgnoreError();
  }
}

}  // namespace graphtree
