// Physical memory: trimming, limits, pins, and what is said when it runs out.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kLargestStep = uint64_t{64} << 20;

const char* NameOfRegion(Region region) { return region == Region::kStep ? "step" : "kept"; }

}  // namespace

// One pass over what is live, remembered or touched. Slow path only.
std::vector<uint8_t> Pool::PieceUses(Region region) const {
  const PieceRow& row = this->row(region);
  std::vector<uint8_t> uses(row.count(), 0);
  const auto mark = [&](uint64_t begin, uint64_t end, uint8_t use) {
    if (begin >= row.covered_bytes()) return;
    const uint32_t last = row.PieceAt(std::min(end, row.covered_bytes()) - 1);
    for (uint32_t i = row.PieceAt(begin); i <= last; ++i) uses[i] |= use;
  };
  const uint64_t origin = ledger_.region_begin(region);
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (!record.in_use || record.region != region) continue;
    const uint64_t begin = (record.offset - origin) * kQuantum;
    const uint64_t end = begin + uint64_t{record.length} * kQuantum;
    mark(begin, end, record.is_live() ? kUsedByLive : kUsedByCheckpoint);
  }
  if (region == Region::kStep) {
    for (uint32_t s = 0; (uint64_t{s} << kSectorShift) < row.covered_bytes(); ++s) {
      if (ledger_.place_references(s) == 0) continue;
      mark(uint64_t{s} << kSectorShift, uint64_t{s + 1} << kSectorShift, kUsedByCheckpoint);
    }
  }
  return uses;
}

uint64_t Pool::ReleaseFreePieces(uint64_t goal_bytes, bool break_checkpoints) {
  uint64_t released = 0;
  for (Region region : {Region::kStep, Region::kKept}) {
    const std::vector<uint8_t> uses = PieceUses(region);
    PieceRow& row = this->row(region);
    for (uint32_t i = row.count(); i-- > 0 && mapped_bytes() > goal_bytes;) {
      const Piece& piece = row.piece(i);
      const uint8_t forbidden = break_checkpoints ? kUsedByLive : kUsedByLive | kUsedByCheckpoint;
      if (!piece.is_mapped() || piece.pins > 0 || (uses[i] & forbidden) != 0) continue;
      if (!ReleasePiece(region, i).ok()) continue;
      released += piece.bytes;
    }
  }
  return released;
}

absl::Status Pool::ReleasePiece(Region region, uint32_t index) {
  PieceRow& row = this->row(region);
  const AddressRange range = row.RangeOf(index);
  GRAPHTREE_RETURN_IF_ERROR(row.Release(index));
  row.SetSaved(index, nullptr);
  row.piece(index).contents_lost = ++clock_;
  LogEvent(HistoryAction::kUnmap, range.base, range.bytes, nullptr);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Pool::Trim(uint64_t goal_bytes, bool break_checkpoints) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (break_checkpoints && options_.serves_recordings) {
    return absl::FailedPreconditionError(absl::StrCat(
        "trimming pool \"", options_.name, "\" to ", goal_bytes, " bytes with break_checkpoints "
        "would take memory from recordings that are still replayed; trim without, or make the "
        "budget of whoever records smaller"));
  }
  FreeScratch();
  if (!deferred_.must_wait()) {
    GRAPHTREE_RETURN_IF_ERROR(Quiesce());
    return ReleaseFreePieces(goal_bytes, break_checkpoints);
  }
  uint64_t later = 0;
  for (Region region : {Region::kStep, Region::kKept}) {
    const std::vector<uint8_t> uses = PieceUses(region);
    for (uint32_t i = 0; i < row(region).count(); ++i) {
      const Piece& piece = row(region).piece(i);
      const bool free = (uses[i] & kUsedByLive) == 0 &&
                        (break_checkpoints || (uses[i] & kUsedByCheckpoint) == 0);
      if (piece.is_mapped() && piece.pins == 0 && free) later += piece.bytes;
    }
  }
  const uint64_t mapped = mapped_bytes();
  later = std::min(later, mapped > goal_bytes ? mapped - goal_bytes : 0);
  GRAPHTREE_RETURN_IF_ERROR(deferred_.Do("trim the pool", [this, goal_bytes, break_checkpoints] {
    GRAPHTREE_RETURN_IF_ERROR(Quiesce());
    ReleaseFreePieces(goal_bytes, break_checkpoints);
    return absl::OkStatus();
  }));
  return later;
}

// Best effort: large pieces as long as there is memory for them, then smaller ones.
absl::StatusOr<uint64_t> Pool::ReserveAhead(uint64_t bytes, Region region) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (parked_) return UsedWhileParked("reserving");
  const uint64_t begin = uint64_t{ledger_.placement(region).end()} * kQuantum;
  const uint64_t end = begin + std::min(bytes, region_bytes_ - begin);
  uint64_t had = begin;
  for (uint64_t step = kLargestStep; had < end && step >= device_.memory().granularity();) {
    const uint64_t next = std::min(end, had + step);
    Shortage shortage;
    const absl::Status status = Grow({region, had, next}, &shortage);
    if (status.ok()) {
      had = next;
    } else if (IsShortage(status)) {
      step /= 2;
    } else {
      return status;
    }
  }
  const uint64_t shortfall = bytes - (had - begin);
  stats_.initial_bytes += bytes;
  stats_.initial_shortfall += shortfall;
  return shortfall;
}

absl::Status Pool::SealDeadMemory() {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (!options_.debug.seal_dead_memory || parked_) return absl::OkStatus();
  if (deferred_.must_wait()) {
    return absl::FailedPreconditionError("dead memory is sealed behind its work, and a capture is "
                                         "open. Seal it after that.");
  }
  GRAPHTREE_RETURN_IF_ERROR(Quiesce());
  // A recording's memory is not dead: replays use it, and a restore may bring it back.
  for (Region region : {Region::kStep, Region::kKept}) {
    const std::vector<uint8_t> uses = PieceUses(region);
    for (uint32_t i = 0; i < row(region).count(); ++i) {
      if (uses[i] != 0 || row(region).piece(i).pins > 0) continue;
      GRAPHTREE_RETURN_IF_ERROR(row(region).SetAccessible(i, false));
    }
  }
  return absl::OkStatus();
}

absl::Status Pool::SetLimit(uint64_t bytes) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (bytes > 0 && bytes < mapped_bytes() && !deferred_.must_wait()) {
    GRAPHTREE_RETURN_IF_ERROR(Quiesce());
    ReleaseFreePieces(bytes, /*break_checkpoints=*/false);
  }
  const uint64_t to_wake = BytesToWake();
  if (bytes > 0 && bytes < mapped_bytes() + to_wake) {
    const std::string parked =
        to_wake == 0 ? "" : absl::StrCat(" and ", to_wake, " parked ones are to be woken");
    return absl::FailedPreconditionError(absl::StrCat(
        "a limit of ", bytes, " bytes is below what pool \"", options_.name, "\" holds: ",
        mapped_bytes(), " bytes are mapped", parked, ", for ", stats_.live_bytes,
        " live ones. Free", to_wake == 0 ? " or park" : "", " first."));
  }
  limit_bytes_ = bytes;
  return absl::OkStatus();
}

uint64_t Pool::BytesToWake() {
  uint64_t bytes = 0;
  for (Region region : {Region::kStep, Region::kKept}) {
    const std::vector<uint8_t> uses = PieceUses(region);
    PieceRow& row = this->row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      Piece& piece = row.piece(i);
      if (!piece.wake || piece.is_mapped()) continue;
      if (uses[i] == 0) {
        piece.wake = false;
        row.SetSaved(i, nullptr);
        continue;
      }
      bytes += piece.bytes;
    }
  }
  return bytes;
}

absl::Status Pool::Pin(AddressRange range) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Piece*> pieces, PiecesUnder(range));
  for (Piece* piece : pieces) ++piece->pins;
  pins_.push_back(range);
  return absl::OkStatus();
}

// Other ranges may be pinned in the same pieces, so it is ranges that are remembered.
absl::Status Pool::Unpin(AddressRange range) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  const auto pin = std::find(pins_.begin(), pins_.end(), range);
  if (pin == pins_.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "[", range.base, ", ", range.end(), ") is not pinned in pool \"", options_.name,
        "\". Unpin exactly what was pinned."));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<Piece*> pieces, PiecesUnder(range));
  for (Piece* piece : pieces) --piece->pins;
  pins_.erase(pin);
  return absl::OkStatus();
}

// Fails unless all of the range is mapped.
absl::StatusOr<std::vector<Piece*>> Pool::PiecesUnder(AddressRange range) {
  if (range.empty() || !reserved_.Contains(range)) {
    return absl::InvalidArgumentError(absl::StrCat("[", range.base, ", ", range.end(),
                                                   ") is not memory of pool \"", options_.name,
                                                   "\""));
  }
  std::vector<Piece*> pieces;
  uint64_t covered = 0;
  for (Region region : {Region::kStep, Region::kKept}) {
    for (uint32_t i = 0; i < row(region).count(); ++i) {
      const AddressRange here = row(region).RangeOf(i);
      if (!here.Overlaps(range) || !row(region).piece(i).is_mapped()) continue;
      pieces.push_back(&row(region).piece(i));
      covered += std::min(here.end(), range.end()) - std::max(here.base, range.base);
    }
  }
  if (covered == range.bytes) return pieces;
  return absl::FailedPreconditionError(absl::StrCat(
      "of the ", range.bytes, " bytes at ", range.base, " only ", covered, " are mapped"));
}

void Pool::FillFree(Region region, OomReport* report) const {
  const Placement& placement = ledger_.placement(region);
  const PieceRow& row = this->row(region);
  for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
    const Run& run = placement.run(id);
    if (run.is_live()) continue;
    const uint64_t begin = uint64_t{run.offset} * kQuantum;
    const uint64_t bytes = uint64_t{run.length} * kQuantum;
    report->free.between_blocks += row.MappedIn(begin, begin + bytes);
    report->free.largest_run = std::max(report->free.largest_run, bytes);
  }
  const std::vector<uint8_t> uses = PieceUses(region);
  const uint64_t end = uint64_t{placement.end()} * kQuantum;
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    if (!piece.is_mapped()) {
      if ((uses[i] & kUsedByLive) != 0) report->free.parked += piece.bytes;
      continue;
    }
    const uint64_t behind = piece.offset + piece.bytes;
    if (behind > end) report->free.behind_blocks += behind - std::max(end, piece.offset);
    if (uses[i] == kUsedByCheckpoint) report->free.held_by_checkpoints += piece.bytes;
  }
}

absl::Status Pool::OutOfMemory(const BlockRequest& request, absl::string_view why,
                               uint64_t missing, const absl::Status& cause) {
  OomReport report;
  report.pool = options_.name;
  report.region = NameOfRegion(request.region);
  report.why = std::string(why);
  report.cause = std::string(cause.message());
  report.requested = request.bytes;
  report.missing = missing;
  report.live = stats_.live_bytes;
  report.mapped = mapped_bytes();
  report.limit = limit_bytes_;
  report.addresses = region_bytes_;
  report.addresses_used = uint64_t{ledger_.placement(request.region).end()} * kQuantum;
  FillFree(request.region, &report);
  const Region other = request.region == Region::kStep ? Region::kKept : Region::kStep;
  report.free.other_region =
      row(other).mapped_bytes() -
      std::min(row(other).mapped_bytes(),
               uint64_t{ledger_.placement(other).live_length()} * kQuantum);
  for (BlockId id : queued_.blocks()) {
    if (ledger_.Check(id) != FreeOutcome::kFreed) continue;
    report.free.queued_frees += uint64_t{ledger_.record(id.index).length} * kQuantum;
  }
  FillHolders(&report);
  if (auto info = device_.memory().Info(); info.ok()) {
    report.device_total = info->total_bytes;
    report.device_free = info->free_bytes;
    const uint64_t used = info->total_bytes - std::min(info->free_bytes, info->total_bytes);
    report.held_by_others = used - std::min(used, report.mapped);
  }
  Advise(&report);
  ++stats_.out_of_memory;
  LogEvent(HistoryAction::kOutOfMemory, report.device_free, request.bytes, nullptr);
  last_out_of_memory_ = std::move(report);
  return absl::ResourceExhaustedError(last_out_of_memory_.Text());
}

}  // namespace graphtree
