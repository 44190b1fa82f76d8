// Mapping ahead, trimming, limits and pins.
#include "allocator/pool/memory_budget.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/placement/placement.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kLargestStep = uint64_t{64} << 20;

}  // namespace

MemoryBudget::MemoryBudget(const Arena& arena, Door& door, const Ledger& ledger,
                           PoolStreams& streams, Growth& growth, Tally& tally, Parking& parking)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      growth_(growth),
      tally_(tally),
      parking_(parking) {}

// Best effort: large pieces as long as there is memory for them, then smaller ones.
absl::StatusOr<uint64_t> MemoryBudget::ReserveAhead(uint64_t bytes, Region region) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_parked()) return door_.UsedWhileParked("reserving");
  if (!IsKnown(region, Region::kLasting)) {
    return absl::InvalidArgumentError(
        absl::StrCat("reserving ", bytes, " bytes in ", NotKnown("region", region)));
  }
  const uint64_t begin = uint64_t{ledger_.placement(region).end()} * kQuantum;
  const uint64_t end = begin + std::min(bytes, arena_.region_bytes() - begin);
  uint64_t had = begin;
  for (uint64_t step = kLargestStep; had < end && step >= arena_.memory().granularity();) {
    const uint64_t next = std::min(end, had + step);
    Shortage shortage;
    const absl::Status status = growth_.Grow({region, had, next}, &shortage);
    if (status.ok()) {
      had = next;
    } else if (Growth::IsShortage(status)) {
      step /= 2;
    } else {
      return status;
    }
  }
  const uint64_t shortfall = bytes - (had - begin);
  tally_.counts().initial_bytes += bytes;
  tally_.counts().initial_shortfall += shortfall;
  return shortfall;
}

absl::StatusOr<uint64_t> MemoryBudget::Trim(uint64_t goal_bytes, bool break_checkpoints) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (break_checkpoints && arena_.options().serves_recordings) {
    return absl::FailedPreconditionError(absl::StrCat(
        "trimming pool \"", arena_.name(), "\" to ", goal_bytes, " bytes with break_checkpoints "
        "would take memory from recordings that are still replayed; trim without, or make the "
        "budget of whoever records smaller"));
  }
  if (!door_.waiting().must_wait()) {
    GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());
    return growth_.ReleaseFreePieces(goal_bytes, break_checkpoints);
  }
  const uint64_t mapped = growth_.mapped_bytes();
  const uint64_t later = std::min(growth_.FreePieceBytes(break_checkpoints),
                                  mapped > goal_bytes ? mapped - goal_bytes : 0);
  GRAPHTREE_RETURN_IF_ERROR(door_.waiting().deferred().Do(
      "trim the pool", [this, goal_bytes, break_checkpoints] {
        GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());
        growth_.ReleaseFreePieces(goal_bytes, break_checkpoints);
        return absl::OkStatus();
      }));
  return later;
}

uint64_t MemoryBudget::MostToRelease(absl::Span<const CheckpointId> stay) const {
  std::vector<uint32_t> sectors;
  for (const CheckpointId id : stay) {
    const uint32_t node = ledger_.FindCheckpoint(id.index, id.generation);
    if (node == kNoId) continue;
    const std::vector<uint32_t>& way = ledger_.checkpoints().node(node).footprint;
    sectors.insert(sectors.end(), way.begin(), way.end());
  }
  return growth_.FreePieceBytesBut(sectors);
}

uint64_t MemoryBudget::IdleBytes() const {
  const uint64_t lasting = growth_.row(Region::kLasting).mapped_bytes();
  const uint64_t live = uint64_t{ledger_.placement(Region::kLasting).live_length()} * kQuantum;
  return lasting - std::min(lasting, live) + growth_.FreePieceBytesOf(Region::kStep);
}

absl::Status MemoryBudget::SetLimit(uint64_t bytes) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (bytes > 0 && bytes < growth_.mapped_bytes() && !door_.waiting().must_wait()) {
    GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());
    growth_.ReleaseFreePieces(bytes, /*break_checkpoints=*/false);
  }
  const uint64_t to_wake = parking_.BytesToWake();
  const uint64_t mapped = growth_.mapped_bytes();
  if (bytes > 0 && bytes < mapped + to_wake) {
    const std::string parked =
        to_wake == 0 ? "" : absl::StrCat(" and ", to_wake, " parked ones are to be woken");
    return absl::FailedPreconditionError(absl::StrCat(
        "a limit of ", bytes, " bytes is below what pool \"", arena_.name(), "\" holds: ", mapped,
        " bytes are mapped", parked, ", for ", tally_.counts().live_bytes, " live ones. Free",
        to_wake == 0 ? " or park" : "", " first."));
  }
  growth_.SetLimit(bytes);
  return absl::OkStatus();
}

absl::Status MemoryBudget::Pin(AddressRange range) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Piece*> pieces, PiecesUnder(range));
  for (Piece* piece : pieces) ++piece->pins;
  pins_.push_back(range);
  return absl::OkStatus();
}

absl::Status MemoryBudget::Unpin(AddressRange range) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  const auto pin = std::find(pins_.begin(), pins_.end(), range);
  if (pin == pins_.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "[", range.base, ", ", range.end(), ") is not pinned in pool \"", arena_.name(),
        "\". Unpin exactly what was pinned."));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Piece*> pieces, PiecesUnder(range));
  for (Piece* piece : pieces) --piece->pins;
  pins_.erase(pin);
  return absl::OkStatus();
}

absl::Status MemoryBudget::PinForGood(AddressRange range) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Piece*> pieces, PiecesUnder(range));
  for (Piece* piece : pieces) {
    if (std::exchange(piece->is_pinned_for_good, true)) continue;
    ++piece->pins;
  }
  return absl::OkStatus();
}

// Fails unless all of the range is mapped.
absl::StatusOr<std::vector<Piece*>> MemoryBudget::PiecesUnder(AddressRange range) {
  GRAPHTREE_RETURN_IF_ERROR(arena_.CheckIsMine(range));
  std::vector<Piece*> pieces;
  uint64_t covered = 0;
  for (Region region : {Region::kStep, Region::kLasting}) {
    PieceRow& row = growth_.row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      const AddressRange here = row.RangeOf(i);
      if (!here.Overlaps(range) || !row.piece(i).is_mapped()) continue;
      pieces.push_back(&row.piece(i));
      covered += std::min(here.end(), range.end()) - std::max(here.base, range.base);
    }
  }
  if (covered == range.bytes) return pieces;
  return absl::FailedPreconditionError(absl::StrCat(
      "of the ", range.bytes, " bytes at ", range.base, " only ", covered, " are mapped"));
}

}  // namespace graphtree
