// Making and closing a pool, allocating and freeing.
#include "allocator/pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/memory/estate.h"
#include "device/base/guarded_call.h"
#include "device/base/insist.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kMostHistoryEntries = uint64_t{1} << 24;  // 640 MiB

// The salts of pools made one after the other differ in their highest bits, while generations count
// up from the lowest: no handle of one pool is by chance one of the other.
uint32_t SaltOf(uint64_t serial) {
  uint32_t salt = 0;
  for (int bit = 0; bit < 32; ++bit) salt |= static_cast<uint32_t>(serial >> bit & 1) << (31 - bit);
  return salt;
}

absl::Status NoSuchRegion(uint64_t bytes, Region region) {
  return absl::InvalidArgumentError(
      absl::StrCat("a block of ", bytes, " bytes in ", NotKnown("region", region)));
}

uint32_t QuantaOf(uint64_t bytes) { return static_cast<uint32_t>(bytes / kQuantum); }

}  // namespace

absl::StatusOr<std::unique_ptr<Pool>> Pool::Create(Device& device, PoolOptions options) {
  device.GiveBackLeftovers().IgnoreError();
  if (options.history_entries > kMostHistoryEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("a history of ", options.history_entries, " entries; at most ",
                     kMostHistoryEntries, " are kept"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(Arena arena, Arena::Reserve(device, std::move(options)));
  auto pool = std::unique_ptr<Pool>(new Pool(std::move(arena)));
  const uint64_t ahead = pool->arena_.options().initial_bytes;
  if (ahead > 0) GRAPHTREE_RETURN_IF_ERROR(pool->memory_.ReserveAhead(ahead).status());
  return pool;
}

Pool::Pool(Arena arena)
    : arena_(std::move(arena)),
      door_(arena_, [this](const Door::Entry& entry) { return DoWhatWaits(entry); }),
      ledger_(QuantaOf(arena_.region_bytes()), QuantaOf(arena_.region_bytes()),
              QuantaOf(arena_.region_bytes()), SaltOf(arena_.serial()), arena_.base() / kQuantum),
      tally_(arena_.reserved().bytes),
      journal_(arena_, door_, ledger_),
      streams_(arena_, door_),
      growth_(arena_, door_, ledger_, streams_, journal_, tally_),
      watchers_(arena_, door_, ledger_, streams_, growth_, journal_, tally_),
      blocks_(arena_, door_, ledger_, streams_, journal_, tally_, watchers_),
      maker_(arena_, door_, ledger_, streams_, growth_, journal_, tally_, watchers_, blocks_),
      parking_(arena_, door_, ledger_, streams_, growth_, journal_, watchers_),
      memory_(arena_, door_, ledger_, streams_, growth_, tally_, parking_),
      checkpoints_(arena_, door_, ledger_, streams_, growth_, journal_, tally_, watchers_),
      scopes_(arena_, door_, ledger_, streams_, growth_, blocks_, checkpoints_) {}

Pool::~Pool() {
  scopes_.LetGo();
  if (!door_.is_closed() && arena_.device().open_captures() > 0) {
    LeaveEverythingBehind();
    return;
  }
  if (!door_.is_closed()) {
    if (!AwaitWork().ok()) {
      LeaveEverythingBehind();
      return;
    }
    // What cannot be released is named when the device is closed.
    Insist([this] { return ReleaseEverything(); }).IgnoreError();
  }
  arena_.device().GiveBackLeftovers().IgnoreError();
}

void Pool::LeaveEverythingBehind() {
  auto estate = std::make_unique<Estate>(arena_.device());
  estate->reserved = arena_.reserved();
  estate->mappings = growth_.TakeMappings();
  streams_.LeaveTo(estate.get());
  arena_.device().LeaveBehind(std::move(estate));
}

// Work that is queued may still use freed bytes. A device that is lost runs none any more.
absl::Status Pool::AwaitWork() {
  const absl::Status quiet = Insist([this] { return streams_.Quiesce(); });
  return arena_.device().health().ok() ? quiet : absl::OkStatus();
}

absl::Status Pool::ReleaseEverything() {
  GRAPHTREE_RETURN_IF_ERROR(growth_.ReleaseEverything());
  door_.SetClosed();
  return absl::OkStatus();
}

absl::Status Pool::Close() {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  if (door_.is_asking()) return door_.NotWhileAsking("close");
  if (entry.is_outermost()) scopes_.EndAbandoned();
  if (!scopes_.empty()) {
    return absl::FailedPreconditionError("a pool is closed while a capture allocates from it");
  }
  GRAPHTREE_RETURN_IF_ERROR(deferred().Drain());
  if (door_.is_closed() || (door_.is_closing() && deferred().must_wait())) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(blocks_.FreeQueued());
  GRAPHTREE_RETURN_IF_ERROR(WhyNotClosed());
  door_.BeginClosing();
  return deferred().Do("close the pool", [this] {
    GRAPHTREE_RETURN_IF_ERROR(AwaitWork());
    arena_.device().GiveBackLeftovers().IgnoreError();
    return ReleaseEverything();
  });
}

absl::Status Pool::WhyNotClosed() const {
  const PoolStats& counts = tally_.counts();
  if (counts.live_blocks > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "pool \"", arena_.name(), "\" is closed with ", counts.live_blocks, " live blocks (",
        FormatBytes(counts.live_bytes), "), most of them tagged \"",
        maker_.reporter().Holders().front().tag, "\". Free them first."));
  }
  const uint32_t pinned =
      growth_.row(Region::kStep).pinned_count() + growth_.row(Region::kLasting).pinned_count();
  if (pinned > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("pool \"", arena_.name(), "\" is closed with ", pinned,
                     " pinned pieces: somebody has registered their memory. Unpin them first."));
  }
  return absl::OkStatus();
}

// Does the work that waits, when the door asks for it before a call's own work.
absl::Status Pool::DoWhatWaits(const Door::Entry& entry) {
  // Not from a callback: the call around it has begun already.
  if (entry.is_outermost()) {
    scopes_.EndAbandoned();
    door_.waiting().DrainDeferred();
  }
  return FreeQueued();
}

// The block is placed; now it gets memory, and its stream comes after the bytes' earlier users. If
// either fails the block is taken out of the books.
[[gnu::always_inline]] inline absl::StatusOr<Block> Pool::Finish(const Allocation& got,
                                                                 uint64_t alignment,
                                                                 uint32_t number, Stream& stream) {
  const uint32_t index = got.block.index;
  RegionExtent extent = arena_.ExtentOf(ledger_.record(index));
  if (!growth_.IsReady(extent) || watchers_.debugs() ||
      streams_.table().MustOrder(number, got.last_use)) {
    GRAPHTREE_RETURN_IF_ERROR(maker_.MakeUsable(got, alignment, stream));
    extent = arena_.ExtentOf(ledger_.record(index));  // it may have been moved to where memory is
  }
  if (extent.region == Region::kStep && ledger_.notes_places()) {
    const uint32_t last = arena_.SectorOf(extent.end - 1);
    for (uint32_t s = arena_.SectorOf(extent.begin); s <= last; ++s) ledger_.Touch(s);
  }
  // Looked up again: the server may have been asked for memory, and may have called back.
  const BlockRecord& live = ledger_.record(index);
  tally_.CountAllocated(live);
  if (watchers_.any()) watchers_.TellOfAllocation(live);
  // Built where it is returned: a copy would wait for the narrow stores that just made it.
  absl::StatusOr<Block> result{absl::in_place};
  result->id.index = index;
  result->id.generation = got.block.generation;
  result->range.base = arena_.AddressOf(live.user_offset());
  result->range.bytes = live.requested_bytes();
  return result;
}

absl::StatusOr<Block> Pool::Allocate(uint64_t bytes, Stream& stream, const BlockOptions& options) {
  const Door::Entry entry(door_.guard());
  if (door_.IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(door_.EnterUnusual(entry));
  if (door_.is_parked()) return door_.UsedWhileParked("allocate");
  if (!IsKnown(options.region, Region::kLasting)) return NoSuchRegion(bytes, options.region);
  StreamTable& table = streams_.table();
  if (!table.IsLast(stream)) GRAPHTREE_RETURN_IF_ERROR(streams_.Check(stream));
  const uint32_t number = table.NumberOf(stream);
  const BlockRequest request = {.bytes = bytes,
                                .alignment = options.alignment,
                                .region = options.region,
                                .guarded = arena_.debug().guard_gaps || arena_.debug().canaries,
                                .streams = 1u << number,
                                .tag = options.tag,
                                .note = options.note};
  const Allocation got = ledger_.Allocate(request);
  if (got.outcome == AllocateOutcome::kOutOfSpace) return AllocateByAsking(request, stream);
  if (got.outcome != AllocateOutcome::kAllocated) return maker_.WhyNotPlaced(got.outcome, request);
  return Finish(got, options.alignment, number, stream);
}

// Addresses are used up.
absl::StatusOr<Block> Pool::AllocateByAsking(BlockRequest request, Stream& stream) {
  const Allocation got = maker_.PlaceByAsking(&request, stream);
  if (got.outcome != AllocateOutcome::kAllocated) return maker_.WhyNotPlaced(got.outcome, request);
  return Finish(got, request.alignment, streams_.table().NumberOf(stream), stream);
}

absl::StatusOr<Block> Pool::AllocateAt(Address address, uint64_t bytes, Stream& stream,
                                       const BlockOptions& options) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_parked()) return door_.UsedWhileParked("allocate");
  const AddressRange mine = arena_.reserved();
  if (!mine.Contains(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("address ", address, " is not one of pool \"", arena_.name(), "\": it has [",
                     mine.base, ", ", mine.end(), ")"));
  }
  if (options.alignment != 0 && address % options.alignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat("address ", address, " is not aligned to ",
                                                   options.alignment, " bytes, as was asked for"));
  }
  GRAPHTREE_RETURN_IF_ERROR(streams_.Check(stream));
  const uint32_t number = streams_.table().NumberOf(stream);
  const BlockRequest request = {.bytes = bytes,
                                .alignment = options.alignment,
                                .region = arena_.RegionOf(address),
                                .streams = 1u << number,
                                .tag = options.tag,
                                .note = options.note};
  const Allocation got = ledger_.AllocateAt(address - mine.base, request);
  if (got.outcome == AllocateOutcome::kAllocated) {
    journal_.MarkAsPlaced(true);
    absl::StatusOr<Block> block = Finish(got, BlockMaker::kNotToBeMoved, number, stream);
    journal_.MarkAsPlaced(false);
    return block;
  }
  if (got.outcome == AllocateOutcome::kOccupied) {
    return absl::AlreadyExistsError(
        absl::StrCat("at address ", address, " not all of ", bytes, " bytes are free"));
  }
  return maker_.WhyNotPlaced(got.outcome, request);
}

absl::Status Pool::Free(BlockId id) {
  if (!door_.guard().IsOwner()) return FreeLater(id);
  const Door::Entry entry(door_.guard());
  if (door_.IsUnusual(entry)) {
    GRAPHTREE_RETURN_IF_ERROR(door_.EnterUnusual(entry));
    return blocks_.Free(id);
  }
  const HandleState outcome = ledger_.Check(id);
  if (outcome != HandleState::kLive) return blocks_.WhyNotFreed(id, outcome);
  Blocks::FreeLive(id, ledger_, streams_, tally_, watchers_);
  return absl::OkStatus();
}

absl::Status Pool::FreeLater(BlockId id) {
  return door_.waiting().frees().Add(id) ? absl::OkStatus() : door_.Closed();
}

absl::Status Pool::FreeQueued() {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  return door_.is_closed() || door_.is_closing() ? door_.Closed() : blocks_.FreeQueued();
}

absl::Status Pool::FreeAddress(Address address) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  GRAPHTREE_ASSIGN_OR_RETURN(const Block block, Find(address));
  if (block.range.base != address) {
    return absl::InvalidArgumentError(
        absl::StrCat("address ", address, " lies inside a block that begins at ",
                     block.range.base, ": free that"));
  }
  return Free(block.id);
}

PoolStats Pool::Stats() const {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return {.is_busy = true};
  PoolStats stats = tally_.counts();
  stats.mapped_bytes = growth_.mapped_bytes();
  stats.pinned_bytes =
      growth_.row(Region::kStep).pinned_bytes() + growth_.row(Region::kLasting).pinned_bytes();
  stats.lasting_bytes = uint64_t{ledger_.placement(Region::kLasting).live_length()} * kQuantum;
  stats.parked_bytes = parking_.parked_bytes();
  stats.limit_bytes = growth_.limit_bytes();
  stats.checkpoints = ledger_.checkpoints().count();
  stats.queued_frees = door_.waiting().frees().blocks().size();
  stats.deferred = door_.waiting().deferred().size();
  stats.bookkeeping_bytes = ledger_.bookkeeping_bytes();
  stats.forgotten_words = journal_.forgotten_words();
  return stats;
}

PoolFailures Pool::failures() const {
  return {.refused_free = blocks_.first_refused_free(),
          .refused_call = door_.first_refused_call(),
          .deferred = door_.waiting().first_failure()};
}

absl::Status Pool::NoteSnapshot(const std::function<void()>& look) {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  if (look == nullptr) {
    return absl::InvalidArgumentError("a snapshot was noted without a function that takes it");
  }
  journal_.LogRange(HistoryAction::kSnapshot, {0, tally_.counts().live_bytes});
  return Guarded(look);
}

}  // namespace graphtree
