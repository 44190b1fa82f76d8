// Physical memory: growing, trimming, limits, pins, and what is said when it runs out.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

const char* NameOfRegion(Region region) { return region == Region::kStep ? "step" : "kept"; }

}  // namespace

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
  std::vector<AddressRange> mapped_now;
  GRAPHTREE_RETURN_IF_ERROR(row.Ready(extent.begin, extent.end, &mapped_now));
  stats_.peak_mapped_bytes = std::max(stats_.peak_mapped_bytes, mapped_bytes());
  for (const AddressRange& range : mapped_now) {
    LogEvent(HistoryAction::kMap, range.base, range.bytes, nullptr);
  }
  return absl::OkStatus();
}

absl::Status Pool::GrowAfterReleasing(const Extent& extent, Shortage* shortage) {
  const PieceRow& row = this->row(extent.region);
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    const bool inside = piece.offset < extent.end && extent.begin < piece.offset + piece.bytes;
    if (inside && piece.saved != nullptr) return UsedWhileParked("allocating in a parked part");
  }
  const absl::Status status = Grow(extent, shortage);
  if (!IsShortage(status) || !ReleaseForGrowth(shortage->missing)) return status;
  return Grow(extent, shortage);
}

// The ladder before an allocation fails: map; release free pieces elsewhere; place the block where
// memory is, though a good fit would not; ask the server.
absl::Status Pool::MakeReady(BlockId block, uint64_t alignment, LastUse* last_use,
                             Shortage* shortage) {
  absl::Status status = GrowAfterReleasing(ExtentOf(ledger_.record(block.index)), shortage);
  if (IsShortage(status) && alignment != kNotToBeMoved &&
      ledger_.MoveBelow(block, alignment, last_use)) {
    status = GrowAfterReleasing(ExtentOf(ledger_.record(block.index)), shortage);
  }
  constexpr int kMostAttempts = 16;
  for (int attempt = 0; IsShortage(status) && attempt < kMostAttempts; ++attempt) {
    if (!options_.before_out_of_memory || asks_server_) break;
    const Extent extent = ExtentOf(ledger_.record(block.index));
    asked_for_ = block;
    asks_server_ = is_special_ = true;
    const bool has_given =
        options_.before_out_of_memory({extent.end - extent.begin, shortage->missing, attempt});
    asks_server_ = is_special_ = false;
    if (!has_given) break;
    GRAPHTREE_RETURN_IF_ERROR(DrainQueuedFrees());
    status = GrowAfterReleasing(extent, shortage);
  }
  return status;
}

// Gives back pieces that nobody uses, to have as much elsewhere.
bool Pool::ReleaseForGrowth(uint64_t bytes) {
  // Freed bytes may still be in use by work that was queued before.
  if (device_.open_captures() > 0 || !Quiesce().ok()) return false;
  const uint64_t mapped = mapped_bytes();
  return ReleaseFreePieces(mapped - std::min(bytes, mapped), /*break_checkpoints=*/false) > 0;
}

bool Pool::IsShortage(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted;
}

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
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry));
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

// Best effort: piece by piece, until the bytes are there or something is short.
absl::StatusOr<uint64_t> Pool::ReserveAhead(uint64_t bytes, Region region) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry));
  if (parked_) return UsedWhileParked("reserving");
  PieceRow& row = this->row(region);
  const uint64_t begin = uint64_t{ledger_.placement(region).end()} * kQuantum;
  const uint64_t end = std::min(begin + std::min(bytes, region_bytes_), region_bytes_);
  stats_.initial_bytes += bytes;
  Shortage shortage;
  absl::Status status = Grow({region, begin, end}, &shortage);
  // What does not fit as a whole is taken in pieces.
  uint64_t had = status.ok() ? end : std::max(begin, std::min(end, row.covered_bytes()));
  while (!status.ok() && had < end && IsShortage(status)) {
    const uint64_t step = NextPieceBytes(row.covered_bytes(), 0, 1);
    const uint64_t next = std::min(end, had + step);
    if (!Grow({region, had, next}, &shortage).ok()) break;
    had = next;
  }
  if (!status.ok() && !IsShortage(status)) return status;
  const uint64_t shortfall = begin + bytes - had;
  stats_.initial_shortfall += shortfall;
  return shortfall;
}

absl::Status Pool::SealDeadMemory() {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry));
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
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry));
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

absl::Status Pool::Pin(AddressRange range) { return ChangePins(range, true); }
absl::Status Pool::Unpin(AddressRange range) { return ChangePins(range, false); }

absl::Status Pool::ChangePins(AddressRange range, bool pin) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry));
  std::vector<std::pair<Region, uint32_t>> pieces;
  uint64_t covered = 0;
  for (Region region : {Region::kStep, Region::kKept}) {
    for (uint32_t i = 0; i < row(region).count(); ++i) {
      if (!row(region).RangeOf(i).Overlaps(range)) continue;
      const Piece& piece = row(region).piece(i);
      if (pin ? !piece.is_mapped() : piece.pins == 0) {
        return absl::FailedPreconditionError(absl::StrCat(
            "memory at ", row(region).RangeOf(i).base, " is not ", pin ? "mapped" : "pinned"));
      }
      pieces.emplace_back(region, i);
      const AddressRange here = row(region).RangeOf(i);
      covered += std::min(here.end(), range.end()) - std::max(here.base, range.base);
    }
  }
  if (range.empty() || !reserved_.Contains(range) || pieces.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("[", range.base, ", ", range.end(),
                                                   ") is not memory of pool \"", options_.name,
                                                   "\""));
  }
  if (covered != range.bytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        "of the ", range.bytes, " bytes at ", range.base, " only ", covered, " are mapped"));
  }
  for (auto [region, i] : pieces) row(region).piece(i).pins += pin ? 1 : -1;
  return absl::OkStatus();
}

void Pool::FillFree(Region region, OomReport* report) const {
  const Placement& placement = ledger_.placement(region);
  const PieceRow& row = this->row(region);
  for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
    const Run& run = placement.run(id);
    if (run.is_live()) continue;
    const uint64_t bytes = uint64_t{run.length} * kQuantum;
    report->free.between_blocks += bytes;
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
  {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    for (BlockId id : queued_frees_) {
      if (ledger_.Check(id) != FreeOutcome::kFreed) continue;
      report.free.queued_frees += uint64_t{ledger_.record(id.index).length} * kQuantum;
    }
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
