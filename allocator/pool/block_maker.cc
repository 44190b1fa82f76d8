// Maps memory under a block, orders its stream, and searches for another place.
#include "allocator/pool/block_maker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/order/set_aside.h"
#include "allocator/placement/placement.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"

namespace graphtree {

BlockMaker::BlockMaker(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams,
                       Growth& growth, Journal& journal, Tally& tally, Watchers& watchers,
                       Blocks& blocks)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      growth_(growth),
      tally_(tally),
      watchers_(watchers),
      blocks_(blocks),
      reporter_(arena, door, ledger, growth, journal, tally) {}

absl::Status BlockMaker::MakeUsable(const Allocation& got, uint64_t alignment, Stream& stream) {
  const uint32_t index = got.block.index;
  const BlockRequest request = {.bytes = ledger_.record(index).requested_bytes(),
                                .region = ledger_.record(index).region};
  Making making = {got.block, alignment, stream, got.last_use, {}};
  absl::Status status = MakeReady(&making);
  if (status.ok() && watchers_.debugs()) {
    status = watchers_.BeforeUse(ledger_.record(index), stream);
    // Some guards' writes may be queued: whoever gets the bytes next waits for the stream.
    if (!status.ok()) {
      const uint32_t bit = 1u << streams_.table().NumberOf(stream);
      making.last_use.Merge({bit, streams_.table().now()});
    }
  }
  if (status.ok()) return status;
  ledger_.mutable_record(index).streams = making.last_use.streams;
  ledger_.Free(got.block, making.last_use.time);
  if (!Growth::IsShortage(status)) return status;
  return reporter_.Report(request,
                          making.shortage.is_limit ? "the pool's limit is reached"
                                                   : "the device has no more",
                          making.shortage.missing, status);
}

// There is no place for the block yet, so whatever the server does to the pool is fine.
Allocation BlockMaker::PlaceByAsking(BlockRequest* request, Stream& stream) {
  for (int attempt = 0; ServerGives({request->bytes, /*missing=*/0, attempt}, {}); ++attempt) {
    request->streams = 1u << streams_.table().NumberOf(stream);
    const Allocation got = ledger_.Allocate(*request);
    if (got.outcome == AllocateOutcome::kAllocated) return got;
  }
  return {AllocateOutcome::kOutOfSpace, {}, {}};
}

absl::Status BlockMaker::WhyNotPlaced(AllocateOutcome outcome, const BlockRequest& request) {
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
      return reporter_.Report(request, "the region's addresses are used up", 0,
                              absl::OkStatus());
  }
}

absl::Status BlockMaker::MakeReady(Making* making) {
  absl::Status status = MakeReadyHere(making);
  if (!status.ok()) status = SearchOn(making, std::move(status));
  if (making->LacksMemory(status)) status = AskServer(making, std::move(status));
  // Looked up again: the server may have made the pool forget streams.
  const uint32_t bit = 1u << streams_.table().NumberOf(making->stream);
  ledger_.mutable_record(making->block.index).streams |= bit;
  return status;
}

// Memory and order for the block where it lies.
absl::Status BlockMaker::MakeReadyHere(Making* making) {
  const RegionExtent extent = arena_.ExtentOf(ledger_.record(making->block.index));
  // No work can be under way on addresses that no piece has covered.
  const bool is_fresh = extent.begin >= growth_.row(extent.region).covered_bytes();
  making->shortage = {};
  if (!growth_.IsReady(extent)) {
    GRAPHTREE_RETURN_IF_ERROR(growth_.GrowAfterReleasing(extent, &making->shortage));
    making->shortage = {};
  }
  StreamTable& table = streams_.table();
  const uint32_t number = table.NumberOf(making->stream);
  if (is_fresh || !table.MustOrder(number, making->last_use)) return absl::OkStatus();
  table.SettleAside();
  const BlockRecord& record = ledger_.record(making->block.index);
  if (table.aside().EndOfOverlap(QuantaOf(record)) != 0) {
    return absl::FailedPreconditionError(
        "the bytes were used on a stream that an open capture has now, and a stream outside of it "
        "cannot come after that use. End the capture first.");
  }
  const uint32_t before = table.now();
  GRAPHTREE_RETURN_IF_ERROR(
      table.Order(number, making->stream, making->last_use,
                  &ledger_.mutable_record(making->block.index).streams));
  if (table.now() != before) ++tally_.counts().cross_stream_reuses;
  return absl::OkStatus();
}

// Placement knows neither memory nor captures, so this asks whether the block may lie there.
absl::Status BlockMaker::SearchOn(Making* making, absl::Status status) {
  if (making->alignment == kNotToBeMoved) return status;
  StreamTable& table = streams_.table();
  const absl::StatusOr<uint32_t> out_of_reach =
      table.OutOfReach(table.NumberOf(making->stream), making->stream);
  if (!out_of_reach.ok()) return status;
  const BlockRecord& record = ledger_.record(making->block.index);
  const uint32_t lost_users = table.UsersOf(making->last_use) & *out_of_reach;
  const bool is_barred = growth_.IsBarred(arena_.ExtentOf(record)) || lost_users != 0 ||
                         table.aside().EndOfOverlap(QuantaOf(record)) != 0;
  if (!is_barred && !making->LacksMemory(status)) return status;
  // What is mapped later was used by none of these streams.
  if (is_barred) table.SetAsideAll(*out_of_reach, CoveredQuanta());
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

std::array<Quanta, 2> BlockMaker::CoveredQuanta() const {
  const auto covered = [this](Region region) {
    const uint32_t begin = ledger_.region_begin(region);
    const uint64_t length = growth_.row(region).covered_bytes() / kQuantum;
    return Quanta{begin, begin + static_cast<uint32_t>(length)};
  };
  return {covered(Region::kStep), covered(Region::kLasting)};
}

bool BlockMaker::MoveTo(const Search& search, bool with_tail, Making* making) {
  const auto first_place = [&](uint32_t begin, uint32_t end, LastUse last_use) {
    return FirstPlace(search, begin, end, last_use);
  };
  if (!ledger_.Move(making->block, first_place, with_tail, &making->last_use)) return false;
  // Nobody ever used addresses that no piece has covered.
  const RegionExtent extent = arena_.ExtentOf(ledger_.record(making->block.index));
  if (extent.begin >= growth_.row(search.region).covered_bytes()) making->last_use = {};
  return true;
}

// The first offset in the free quanta [begin, end) where the block may lie; kNoId if it may not.
uint32_t BlockMaker::FirstPlace(const Search& search, uint32_t begin, uint32_t end,
                                LastUse last_use) const {
  const PieceRow& row = growth_.row(search.region);
  const Placement& placement = ledger_.placement(search.region);
  const uint64_t covered = row.covered_bytes() / kQuantum;
  uint64_t at = begin;
  const uint32_t users = streams_.table().UsersOf(last_use);
  if ((users & search.out_of_reach) != 0) at = std::max(at, covered);
  for (;;) {
    at = placement.Aligned(at, search.alignment);
    if (at == search.tried) at = placement.Aligned(at + 1, search.alignment);
    const uint64_t block_end = at + search.length;
    if (block_end > end || (search.must_be_ready && block_end > covered)) return kNoId;
    const uint32_t first = ledger_.region_begin(search.region);
    const uint32_t aside = streams_.table().aside().EndOfOverlap(
        {first + static_cast<uint32_t>(at), first + static_cast<uint32_t>(block_end)});
    uint64_t next = aside == 0 ? at : aside - first;
    for (uint32_t i = at < covered ? row.PieceAt(at * kQuantum) : row.count(); i < row.count();
         ++i) {
      const Piece& piece = row.piece(i);
      if (piece.offset >= block_end * kQuantum) break;
      const bool will_do = search.must_be_ready ? piece.is_usable() : piece.saved == nullptr;
      if (!will_do) next = (piece.offset + piece.bytes) / kQuantum;
    }
    if (next == at) return static_cast<uint32_t>(at);
    at = next;
  }
}

absl::Status BlockMaker::AskServer(Making* making, absl::Status status) {
  for (int attempt = 0; making->LacksMemory(status); ++attempt) {
    const RegionExtent extent = arena_.ExtentOf(ledger_.record(making->block.index));
    const MemoryWanted wanted = {extent.end - extent.begin, making->shortage.missing, attempt,
                                 making->shortage.is_limit};
    if (!ServerGives(wanted, making->block)) break;
    status = MakeReadyHere(making);
    if (!status.ok()) status = SearchOn(making, std::move(status));
  }
  return status;
}

// False if nothing was given, or nobody is to be asked.
bool BlockMaker::ServerGives(const MemoryWanted& wanted, BlockId wanted_for) {
  constexpr int kMostAttempts = 16;
  const MemoryCallback& ask = arena_.options().before_out_of_memory;
  if (!ask || door_.is_asking() || wanted.attempt >= kMostAttempts) return false;
  door_.BeginAsking(wanted_for);
  bool has_given = false;
  const absl::Status asked = Guarded([&] { has_given = ask(wanted); });
  door_.waiting().KeepFailure(asked);
  door_.EndAsking();
  return has_given && blocks_.FreeQueued().ok();
}

}  // namespace graphtree
