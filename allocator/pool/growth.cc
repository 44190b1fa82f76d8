// Mapping what is missing, unmapping what nobody uses.
#include "allocator/pool/growth.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

Growth::Growth(const Arena& arena, Door& door, const Ledger& ledger, PoolStreams& streams,
               Journal& journal, Tally& tally)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      journal_(journal),
      tally_(tally),
      share_(BytesShare::Of(arena.options().shared_bytes)),
      step_(&arena.memory(), arena.range_of(Region::kStep), share_),
      lasting_(&arena.memory(), arena.range_of(Region::kLasting), share_),
      limit_bytes_(0) {
  SetLimit(arena.options().limit_bytes);
}

void Growth::SetLimit(uint64_t bytes) {
  limit_bytes_ = bytes;
  const uint64_t most = MostPieceBytes(arena_.LimitWith(bytes));
  step_.LimitPieces(most);
  lasting_.LimitPieces(most);
}

uint64_t Growth::LimitNow() const {
  if (share_->limit() == SharedBytes::kNoLimit) return limit_bytes_;
  const uint64_t shared = std::max<uint64_t>(mapped_bytes() + share_->free(), 1);
  return limit_bytes_ == 0 ? shared : std::min(limit_bytes_, shared);
}

absl::Status Growth::CheckLimits(uint64_t wanted, Shortage* shortage) const {
  const uint64_t mapped = mapped_bytes(), limit = LimitNow();
  if (limit == 0 || mapped + wanted <= limit) return absl::OkStatus();
  *shortage = {.missing = mapped + wanted - limit, .is_limit = true};
  const std::string which =
      limit == limit_bytes_
          ? absl::StrCat("the pool's limit of ", limit, " bytes is reached")
          : absl::StrCat("of the ", share_->limit(), " bytes that pools share ", share_->free(),
                         " are left");
  return absl::ResourceExhaustedError(absl::StrCat(
      which, ": ", mapped, " are mapped, ", wanted, " more are needed"));
}

absl::Status Growth::Grow(const RegionExtent& extent, Shortage* shortage) {
  PieceRow& row = this->row(extent.region);
  const uint64_t wanted = row.MissingBytes(extent.begin, extent.end);
  *shortage = {.missing = wanted};
  GRAPHTREE_RETURN_IF_ERROR(CheckLimits(wanted, shortage));
  DeferredQueue& deferred = door_.waiting().deferred();
  const bool must_wait = deferred.must_wait();
  const MappedThen before = must_wait ? MappedNow(extent.region) : MappedThen{};
  std::vector<AddressRange> mapped_now;
  const absl::Status status = row.Ready(extent.begin, extent.end, !must_wait, &mapped_now);
  tally_.RaiseMappedPeak(mapped_bytes());
  for (const AddressRange& range : mapped_now) journal_.LogRange(HistoryAction::kMap, range);
  // Another pool may have taken meanwhile what pools share.
  if (IsShortage(status)) CheckLimits(wanted, shortage).IgnoreError();
  if (status.ok() || mapped_now.empty()) return status;
  // A capture is open: what was mapped in vain cannot be unmapped now.
  deferred
      .Do("return what was mapped in vain",
          [this, region = extent.region, before] { return ReturnSince(region, before); })
      .IgnoreError();
  return status;
}

absl::Status Growth::GrowAfterReleasing(const RegionExtent& extent, Shortage* shortage) {
  if (IsBarred(extent)) return door_.UsedWhileParked("allocating in a parked part");
  const absl::Status status = Grow(extent, shortage);
  if (!IsShortage(status) || !ReleaseForGrowth(shortage->missing)) return status;
  return Grow(extent, shortage);
}

// Gives back pieces that nobody uses, to have as much elsewhere.
bool Growth::ReleaseForGrowth(uint64_t bytes) {
  // Work that was queued before may still use bytes that are free now.
  if (door_.waiting().must_wait() || !streams_.Quiesce().ok()) return false;
  const uint64_t mapped = mapped_bytes();
  return ReleaseFreePieces(mapped - std::min(bytes, mapped), /*break_checkpoints=*/false) > 0;
}

bool Growth::IsBarred(const RegionExtent& extent) const {
  const PieceRow& row = this->row(extent.region);
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    const bool inside = piece.offset < extent.end && extent.begin < piece.offset + piece.bytes;
    if (inside && piece.saved != nullptr) return true;
  }
  return false;
}

std::vector<uint8_t> Growth::PieceUses(Region region) const {
  const PieceRow& row = this->row(region);
  std::vector<uint8_t> uses(row.count(), 0);
  const auto mark = [&](uint64_t begin, uint64_t end, uint8_t use) {
    if (begin >= row.covered_bytes()) return;
    const uint32_t last = row.PieceAt(std::min(end, row.covered_bytes()) - 1);
    for (uint32_t i = row.PieceAt(begin); i <= last; ++i) uses[i] |= use;
  };
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (!record.in_use || record.region != region) continue;
    const RegionExtent extent = arena_.ExtentOf(record);
    mark(extent.begin, extent.end, record.is_live() ? kUsedByLive : kUsedByCheckpoint);
  }
  if (region == Region::kStep) {
    for (uint32_t s = 0; arena_.SectorBegin(s) < row.covered_bytes(); ++s) {
      if (ledger_.place_references(s) == 0) continue;
      mark(arena_.SectorBegin(s), arena_.SectorBegin(s + 1), kUsedByCheckpoint);
    }
  }
  return uses;
}

bool Growth::MayGo(const Piece& piece, uint8_t uses, bool break_checkpoints) {
  const uint8_t forbidden = break_checkpoints ? kUsedByLive : kUsedByLive | kUsedByCheckpoint;
  return piece.is_mapped() && piece.pins == 0 && (uses & forbidden) == 0;
}

uint64_t Growth::FreePieceBytes(bool break_checkpoints) const {
  return FreePieceBytesIn(Region::kStep, break_checkpoints, {}) +
         FreePieceBytesIn(Region::kLasting, break_checkpoints, {});
}

uint64_t Growth::FreePieceBytesBut(const std::vector<uint32_t>& sectors) const {
  return FreePieceBytesIn(Region::kStep, /*break_checkpoints=*/true, sectors) +
         FreePieceBytesIn(Region::kLasting, /*break_checkpoints=*/true, {});
}

uint64_t Growth::FreePieceBytesOf(Region region) const {
  return FreePieceBytesIn(region, /*break_checkpoints=*/false, {});
}

uint64_t Growth::FreePieceBytesIn(Region region, bool break_checkpoints,
                                  const std::vector<uint32_t>& kept_sectors) const {
  const std::vector<uint8_t> uses = PieceUses(region);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < row(region).count(); ++i) {
    const Piece& piece = row(region).piece(i);
    const bool stays =
        std::any_of(kept_sectors.begin(), kept_sectors.end(), [&](uint32_t sector) {
          return piece.offset < arena_.SectorBegin(sector + 1) &&
                 arena_.SectorBegin(sector) < piece.offset + piece.bytes;
        });
    if (!stays && MayGo(piece, uses[i], break_checkpoints)) bytes += piece.bytes;
  }
  return bytes;
}

uint64_t Growth::ReleaseFreePieces(uint64_t goal_bytes, bool break_checkpoints) {
  uint64_t released = 0;
  for (Region region : {Region::kStep, Region::kLasting}) {
    const std::vector<uint8_t> uses = PieceUses(region);
    PieceRow& row = this->row(region);
    for (uint32_t i = row.count(); i-- > 0 && mapped_bytes() > goal_bytes;) {
      const Piece& piece = row.piece(i);
      if (!MayGo(piece, uses[i], break_checkpoints) || !LoseContents(region, i).ok()) continue;
      released += piece.bytes;
    }
  }
  return released;
}

absl::Status Growth::Unmap(Region region, uint32_t index) {
  PieceRow& row = this->row(region);
  const AddressRange range = row.RangeOf(index);
  GRAPHTREE_RETURN_IF_ERROR(row.Release(index));
  journal_.LogRange(HistoryAction::kUnmap, range);
  return absl::OkStatus();
}

absl::Status Growth::LoseContents(Region region, uint32_t index) {
  GRAPHTREE_RETURN_IF_ERROR(Unmap(region, index));
  row(region).SetSaved(index, nullptr);
  row(region).piece(index).contents_lost = ++clock_;
  return absl::OkStatus();
}

MappedThen Growth::MappedNow(Region region) const {
  const PieceRow& row = this->row(region);
  MappedThen mapped = {row.covered_bytes(), {}};
  for (uint32_t i = 0; i < row.count(); ++i) {
    if (!row.piece(i).is_mapped()) mapped.holes.push_back(row.piece(i).offset);
  }
  return mapped;
}

absl::Status Growth::ReturnSince(Region region, const MappedThen& then) {
  PieceRow& row = this->row(region);
  const std::vector<uint8_t> uses = PieceUses(region);
  std::vector<uint32_t> grown;
  uint32_t first_to_go = row.count();
  for (uint32_t i = row.count(); i-- > 0;) {
    const Piece& piece = row.piece(i);
    const bool is_new = piece.offset >= then.covered;
    const bool was_hole =
        std::find(then.holes.begin(), then.holes.end(), piece.offset) != then.holes.end();
    if (uses[i] != 0 || piece.pins > 0 || !(is_new || was_hole)) continue;
    if (is_new && first_to_go == i + 1) first_to_go = i;
    if (piece.is_mapped()) grown.push_back(i);
  }
  // Work that a failed capture's body ran at once may still use it.
  if (!grown.empty()) GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());
  for (uint32_t i : grown) GRAPHTREE_RETURN_IF_ERROR(Unmap(region, i));
  return row.ShrinkTo(first_to_go);
}

absl::Status Growth::ReleaseEverything() {
  GRAPHTREE_RETURN_IF_ERROR(step_.ReleaseAll());
  GRAPHTREE_RETURN_IF_ERROR(lasting_.ReleaseAll());
  return arena_.memory().Release(arena_.reserved());
}

std::vector<PieceRow::Mapping> Growth::TakeMappings() {
  std::vector<PieceRow::Mapping> mappings = step_.TakeMappings();
  for (PieceRow::Mapping& mapping : lasting_.TakeMappings()) mappings.push_back(std::move(mapping));
  return mappings;
}

}  // namespace graphtree
