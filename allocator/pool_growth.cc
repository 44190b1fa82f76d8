// Memory for what is allocated: growing within the limit, and where else a block may lie before an
// allocation fails.
//
//   map --> release free pieces elsewhere, map --> lie where memory is --> lie anywhere below, map
//       --> ask the server, and once more
//
// Where no addresses are left the server is asked, too.
//
// A place is barred if its contents wait for a wake, or if its bytes were used by a capture that is
// open elsewhere. Then the search goes on too, and behind the last block.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

// Memory for the block, not for something else that a device may be short of.
template <typename Making>
bool LacksMemory(const Making& making, const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted && making.shortage.missing > 0;
}

}  // namespace

bool Pool::IsShortage(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted;
}

// Maps what is missing, within the limit.
absl::Status Pool::Grow(const Extent& extent, Shortage* shortage) {
  PieceRow& row = this->row(extent.region);
  const uint64_t wanted = row.MissingBytes(extent.begin, extent.end);
  const uint64_t mapped = mapped_bytes();
  *shortage = {.missing = wanted};
  if (limit_bytes_ > 0 && mapped + wanted > limit_bytes_) {
    *shortage = {.missing = mapped + wanted - limit_bytes_, .is_limit = true};
    return absl::ResourceExhaustedError(absl::StrCat("the pool's limit of ", limit_bytes_,
                                                     " bytes is reached: ", mapped, " are mapped, ",
                                                     wanted, " more are needed"));
  }
  const bool must_wait = deferred_.must_wait();
  const Mapped before = must_wait ? MappedNow(extent.region) : Mapped{};
  std::vector<AddressRange> mapped_now;
  const absl::Status status = row.Ready(extent.begin, extent.end, !must_wait, &mapped_now);
  stats_.peak_mapped_bytes = std::max(stats_.peak_mapped_bytes, mapped_bytes());
  for (const AddressRange& range : mapped_now) {
    LogEvent(HistoryAction::kMap, range.base, range.bytes, nullptr);
  }
  if (status.ok() || mapped_now.empty()) return status;
  // It is queued: what was mapped in vain cannot be unmapped now.
  deferred_
      .Do("return what was mapped in vain",
          [this, region = extent.region, before] { return ReturnGrowth(region, before); })
      .IgnoreError();
  return status;
}

absl::Status Pool::GrowAfterReleasing(const Extent& extent, Shortage* shortage) {
  if (IsBarred(extent)) return UsedWhileParked("allocating in a parked part");
  const absl::Status status = Grow(extent, shortage);
  if (!IsShortage(status) || !ReleaseForGrowth(shortage->missing)) return status;
  return Grow(extent, shortage);
}

// Gives back pieces that nobody uses, to have as much elsewhere.
bool Pool::ReleaseForGrowth(uint64_t bytes) {
  // Freed bytes may still be in use by work that was queued before.
  if (deferred_.must_wait() || !Quiesce().ok()) return false;
  const uint64_t mapped = mapped_bytes();
  return ReleaseFreePieces(mapped - std::min(bytes, mapped), /*break_checkpoints=*/false) > 0;
}

bool Pool::IsBarred(const Extent& extent) const {
  const PieceRow& row = this->row(extent.region);
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    const bool inside = piece.offset < extent.end && extent.begin < piece.offset + piece.bytes;
    if (inside && piece.saved != nullptr) return true;
  }
  return false;
}

absl::Status Pool::MakeReady(Making* making) {
  absl::Status status = MakeReadyHere(making);
  if (!status.ok()) status = SearchOn(making, std::move(status));
  if (LacksMemory(*making, status)) status = AskServer(making, std::move(status));
  // Looked up again: whoever was asked may have forgotten streams.
  const uint32_t bit = 1u << streams_.NumberOf(making->stream);
  ledger_.mutable_record(making->block.index).streams |= bit;
  return status;
}

// Memory and order for the block where it lies.
absl::Status Pool::MakeReadyHere(Making* making) {
  const Extent extent = ExtentOf(ledger_.record(making->block.index));
  making->shortage = {};
  if (!IsReady(extent)) {
    GRAPHTREE_RETURN_IF_ERROR(GrowAfterReleasing(extent, &making->shortage));
    making->shortage = {};
  }
  const uint32_t number = streams_.NumberOf(making->stream);
  if (!streams_.MustOrder(number, making->last_use)) return absl::OkStatus();
  const uint32_t before = streams_.now();
  GRAPHTREE_RETURN_IF_ERROR(
      streams_.Order(number, making->stream, making->last_use,
                     &ledger_.mutable_record(making->block.index).streams));
  if (streams_.now() != before) ++stats_.cross_stream_reuses;
  return absl::OkStatus();
}

// A good fit looks neither at memory nor at captures.
absl::Status Pool::SearchOn(Making* making, absl::Status status) {
  if (making->alignment == kNotToBeMoved) return status;
  const absl::StatusOr<uint32_t> out_of_reach = streams_.OutOfReach(making->stream);
  if (!out_of_reach.ok()) return status;
  const BlockRecord& record = ledger_.record(making->block.index);
  const bool is_barred =
      IsBarred(ExtentOf(record)) || (making->last_use.streams & *out_of_reach) != 0;
  if (!is_barred && !LacksMemory(*making, status)) return status;
  Search search = {record.region,
                   record.length,
                   std::max<uint64_t>(1, making->alignment / kQuantum),
                   *out_of_reach,
                   /*must_be_ready=*/true,
                   record.offset - ledger_.region_begin(record.region)};
  if (MoveTo(search, /*with_tail=*/true, making)) {
    status = MakeReadyHere(making);
    if (status.ok()) return status;
  }
  search.must_be_ready = false;
  if (MoveTo(search, /*with_tail=*/is_barred, making)) status = MakeReadyHere(making);
  return status;
}

bool Pool::MoveTo(const Search& search, bool with_tail, Making* making) {
  const auto first_place = [&](uint32_t begin, uint32_t end, LastUse last_use) {
    return FirstPlace(search, begin, end, last_use);
  };
  if (!ledger_.Move(making->block, first_place, with_tail, &making->last_use)) return false;
  // Behind all pieces nobody ever was.
  const Extent extent = ExtentOf(ledger_.record(making->block.index));
  if (extent.begin >= row(search.region).covered_bytes()) making->last_use = {};
  return true;
}

// The first offset in the free quanta [begin, end) where the block may lie; kNoId if it may not.
uint32_t Pool::FirstPlace(const Search& search, uint32_t begin, uint32_t end,
                          LastUse last_use) const {
  const PieceRow& row = this->row(search.region);
  const Placement& placement = ledger_.placement(search.region);
  const uint64_t covered = row.covered_bytes() / kQuantum;
  uint64_t at = begin;
  if ((last_use.streams & search.out_of_reach) != 0) at = std::max(at, covered);
  for (;;) {
    at = placement.Aligned(at, search.alignment);
    if (at == search.tried) at = placement.Aligned(at + 1, search.alignment);
    const uint64_t behind = at + search.length;
    if (behind > end || (search.must_be_ready && behind > covered)) return kNoId;
    uint64_t next = at;
    for (uint32_t i = at < covered ? row.PieceAt(at * kQuantum) : row.count(); i < row.count();
         ++i) {
      const Piece& piece = row.piece(i);
      if (piece.offset >= behind * kQuantum) break;
      const bool will_do = search.must_be_ready ? piece.is_usable() : piece.saved == nullptr;
      if (!will_do) next = (piece.offset + piece.bytes) / kQuantum;
    }
    if (next == at) return static_cast<uint32_t>(at);
    at = next;
  }
}

bool Pool::ServerGives(const MemoryWanted& wanted, BlockId wanted_for) {
  constexpr int kMostAttempts = 16;
  if (!options_.before_out_of_memory || asks_server_ || wanted.attempt >= kMostAttempts) {
    return false;
  }
  asked_for_ = wanted_for;
  asks_server_ = is_special_ = true;
  bool has_given = false;
  const absl::Status asked =
      Guarded([&] { has_given = options_.before_out_of_memory(wanted); });
  if (!asked.ok() && first_deferred_failure_.ok()) first_deferred_failure_ = asked;
  asks_server_ = is_special_ = false;
  return has_given && DrainQueuedFrees().ok();
}

absl::Status Pool::AskServer(Making* making, absl::Status status) {
  for (int attempt = 0; LacksMemory(*making, status); ++attempt) {
    const Extent extent = ExtentOf(ledger_.record(making->block.index));
    const MemoryWanted wanted = {extent.end - extent.begin, making->shortage.missing, attempt};
    if (!ServerGives(wanted, making->block)) break;
    status = MakeReadyHere(making);
    if (!status.ok()) status = SearchOn(making, std::move(status));
  }
  return status;
}

}  // namespace graphtree
