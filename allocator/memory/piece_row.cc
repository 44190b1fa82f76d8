// Mapping and unmapping pieces, all or nothing.
#include "allocator/memory/piece_row.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

uint64_t MostPieceBytes(uint64_t limit_bytes) {
  constexpr uint64_t kMost = 64 * kMiB, kPart = 16;
  return limit_bytes == 0 ? kMost : std::clamp(limit_bytes / kPart, 2 * kMiB, kMost);
}

uint64_t NextPieceBytes(uint64_t covered, uint64_t needed, uint64_t granularity,
                        uint64_t most_bytes) {
  uint64_t bytes = 2 * kMiB;
  if (covered >= 256 * kMiB || needed >= 16 * kMiB) bytes = 16 * kMiB;
  if (covered >= 1024 * kMiB || needed >= 64 * kMiB) bytes = 64 * kMiB;
  return RoundUp(std::min(bytes, most_bytes), granularity);
}

bool PieceRow::RangeIsReady(uint64_t begin, uint64_t end) const {
  if (begin == end) return true;
  const uint32_t last = PieceAt(end - 1);
  for (uint32_t index = PieceAt(begin); index <= last; ++index) {
    if (!pieces_[index].is_usable()) return false;
  }
  return true;
}

uint32_t PieceRow::pinned_count() const {
  return static_cast<uint32_t>(std::count_if(
      pieces_.begin(), pieces_.end(),
      [](const Piece& piece) { return piece.pins > (piece.is_pinned_for_good ? 1u : 0u); }));
}

uint64_t PieceRow::pinned_bytes() const {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.pins > 0 ? piece.bytes : 0;
  return bytes;
}

uint64_t PieceRow::MappedIn(uint64_t begin, uint64_t end) const {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces_) {
    const uint64_t first = std::max(begin, piece.offset);
    const uint64_t behind = std::min(end, piece.offset + piece.bytes);
    if (first < behind && piece.is_mapped()) bytes += behind - first;
  }
  return bytes;
}

uint64_t PieceRow::MissingBytes(uint64_t begin, uint64_t end) const {
  uint64_t missing = 0;
  for (const Piece& piece : pieces_) {
    const bool inside = piece.offset < end && begin < piece.offset + piece.bytes;
    if (inside && !piece.is_mapped()) missing += piece.bytes;
  }
  for (uint64_t covered = covered_bytes_; covered < end;) {
    uint64_t bytes = NextPieceBytes(covered, end - covered, granularity_, most_bytes_);
    bytes = std::min(bytes, addresses_.bytes - covered);
    if (bytes == 0) break;
    missing += bytes;
    covered += bytes;
  }
  return missing;
}

void PieceRow::Append(uint64_t bytes) {
  Piece piece;
  piece.offset = covered_bytes_;
  piece.bytes = bytes;
  pieces_.push_back(std::move(piece));
  covered_bytes_ += bytes;
  piece_of_.resize(covered_bytes_ / granularity_, count() - 1);
  ++unready_;
}

void PieceRow::RemoveLast() {
  const Piece& piece = pieces_.back();
  GRAPHTREE_CHECK(!piece.is_mapped() && !piece.is_usable()) << "piece at " << piece.offset;
  covered_bytes_ -= piece.bytes;
  piece_of_.resize(covered_bytes_ / granularity_);
  pieces_.pop_back();
  --unready_;
}

absl::Status PieceRow::MapPiece(Piece* piece) {
  std::optional<BytesShare::Claim> claim = share_->Take(piece->bytes);
  if (!claim.has_value()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a piece of ", piece->bytes, " bytes does not fit into the ", share_->limit(),
                     " bytes that pools share: ", share_->free(), " are free"));
  }
  auto created = memory_.Create(piece->bytes);
  if (!created.ok()) return created.status();
  const Address at = addresses_.base + piece->offset;
  GRAPHTREE_RETURN_IF_ERROR(memory_.Map(at, **created));
  piece->memory = *std::move(created);
  piece->claim = *std::move(claim);
  mapped_bytes_ += piece->bytes;
  return absl::OkStatus();
}

absl::Status PieceRow::UnmapPiece(Piece* piece) {
  GRAPHTREE_RETURN_IF_ERROR(
      memory_.Unmap({addresses_.base + piece->offset, piece->bytes}));
  Unmapped(piece);
  return absl::OkStatus();
}

void PieceRow::Unmapped(Piece* piece) {
  piece->memory.reset();
  piece->claim = BytesShare::Claim();
  mapped_bytes_ -= piece->bytes;
  if (piece->is_usable()) ++unready_;
  piece->accessible = false;
}

void PieceRow::ListRanges(const std::vector<uint32_t>& indexes,
                          std::vector<AddressRange>* ranges) const {
  for (uint32_t index : indexes) {
    const AddressRange range = RangeOf(index);
    if (!ranges->empty() && ranges->back().end() == range.base) {
      ranges->back().bytes += range.bytes;
    } else {
      ranges->push_back(range);
    }
  }
}

absl::Status PieceRow::Ready(uint64_t begin, uint64_t end, bool may_unmap,
                             std::vector<AddressRange>* news) {
  if (IsReady(begin, end)) return absl::OkStatus();
  if (end > addresses_.bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the addresses are used up: ", end, " bytes wanted of ", addresses_.bytes,
                     " reserved at ", addresses_.base, "; memory itself may be free. Reserve more ",
                     "addresses when the pool is made."));
  }
  const uint32_t count_before = count();
  while (covered_bytes_ < end) {
    const uint64_t bytes =
        NextPieceBytes(covered_bytes_, end - covered_bytes_, granularity_, most_bytes_);
    Append(std::min(bytes, addresses_.bytes - covered_bytes_));
  }
  const uint32_t first = PieceAt(begin), last = PieceAt(end - 1);
  std::vector<uint32_t> mapped;
  absl::Status status = MapMissing(first, last, &mapped);
  if (status.ok()) status = GrantMissing(first, last);
  if (status.ok() || !may_unmap) {
    ListRanges(mapped, news);
  } else {
    for (auto it = mapped.rbegin(); it != mapped.rend(); ++it) {
      // Best effort: a piece that cannot be unmapped stays, and the next call may use it.
      UnmapPiece(&pieces_[*it]).IgnoreError();
    }
  }
  if (status.ok()) return status;
  while (count() > count_before && !pieces_.back().is_mapped()) RemoveLast();
  return status;
}

// Pieces between the old end and the range stay holes until somebody needs them.
absl::Status PieceRow::MapMissing(uint32_t first, uint32_t last, std::vector<uint32_t>* mapped) {
  for (uint32_t index = first; index <= last; ++index) {
    if (pieces_[index].is_mapped()) continue;
    GRAPHTREE_RETURN_IF_ERROR(MapPiece(&pieces_[index]));
    mapped->push_back(index);
  }
  return absl::OkStatus();
}

// One call for each run of pieces that lie side by side.
absl::Status PieceRow::GrantMissing(uint32_t first, uint32_t last) {
  for (uint32_t index = first; index <= last; ++index) {
    uint32_t behind = index;
    while (behind <= last && !pieces_[behind].accessible) ++behind;
    if (behind == index) continue;
    GRAPHTREE_RETURN_IF_ERROR(GrantAccess(index, behind));
    index = behind - 1;
  }
  return absl::OkStatus();
}

absl::Status PieceRow::GrantAccess(uint32_t first, uint32_t behind) {
  const uint64_t begin = pieces_[first].offset;
  const uint64_t end = pieces_[behind - 1].offset + pieces_[behind - 1].bytes;
  GRAPHTREE_RETURN_IF_ERROR(
      memory_.SetAccess({addresses_.base + begin, end - begin}, MemoryAccess::kReadWrite));
  for (uint32_t index = first; index < behind; ++index) {
    pieces_[index].accessible = true;
    if (pieces_[index].is_usable()) --unready_;
  }
  return absl::OkStatus();
}

absl::Status PieceRow::Release(uint32_t index) {
  GRAPHTREE_CHECK(pieces_[index].is_mapped() && pieces_[index].pins == 0) << "piece " << index;
  return UnmapPiece(&pieces_[index]);
}

absl::Status PieceRow::ReleaseSpan(uint32_t first, uint32_t behind) {
  const uint64_t begin = pieces_[first].offset;
  const uint64_t end = pieces_[behind - 1].offset + pieces_[behind - 1].bytes;
  GRAPHTREE_RETURN_IF_ERROR(memory_.Unmap({addresses_.base + begin, end - begin}));
  for (uint32_t index = first; index < behind; ++index) Unmapped(&pieces_[index]);
  return absl::OkStatus();
}

absl::Status PieceRow::ReleaseAll() {
  for (uint32_t index = 0; index < count();) {
    uint32_t behind = index;
    while (behind < count() && pieces_[behind].is_mapped()) ++behind;
    if (behind > index) GRAPHTREE_RETURN_IF_ERROR(ReleaseSpan(index, behind));
    index = std::max(behind, index + 1);
  }
  return absl::OkStatus();
}

std::vector<PieceRow::Mapping> PieceRow::TakeMappings() {
  std::vector<Mapping> mappings;
  for (uint32_t index = 0; index < count(); ++index) {
    if (!pieces_[index].is_mapped()) continue;
    Piece& piece = pieces_[index];
    mappings.push_back({RangeOf(index), std::move(piece.claim), std::move(piece.memory)});
  }
  pieces_.clear();
  piece_of_.clear();
  covered_bytes_ = mapped_bytes_ = 0;
  unready_ = 0;
  return mappings;
}

absl::Status PieceRow::ShrinkTo(uint32_t count) {
  while (this->count() > count && pieces_.back().pins == 0) {
    if (pieces_.back().is_mapped()) GRAPHTREE_RETURN_IF_ERROR(UnmapPiece(&pieces_.back()));
    RemoveLast();
  }
  return absl::OkStatus();
}

absl::Status PieceRow::SetAccessible(uint32_t index, bool accessible) {
  Piece& piece = pieces_[index];
  if (piece.accessible == accessible || !piece.is_mapped()) return absl::OkStatus();
  if (accessible) return GrantAccess(index, index + 1);
  GRAPHTREE_RETURN_IF_ERROR(memory_.SetAccess(RangeOf(index), MemoryAccess::kNone));
  if (piece.is_usable()) ++unready_;
  piece.accessible = false;
  return absl::OkStatus();
}

void PieceRow::SetSaved(uint32_t index, std::unique_ptr<HostBuffer> saved) {
  Piece& piece = pieces_[index];
  if (piece.is_usable()) ++unready_;
  piece.saved = std::move(saved);
  if (piece.is_usable()) --unready_;
}

bool PieceRow::JoinHoles() {
  std::vector<Piece> joined;
  const auto is_plain_hole = [](const Piece& piece) {
    return !piece.is_mapped() && piece.saved == nullptr && piece.pins == 0;
  };
  // A hole that nobody needs must not be joined to one that a wake has to map; and two that a wake
  // has to map are joined only if their contents were lost at the same time.
  const auto share_their_fate = [](const Piece& a, const Piece& b) {
    return a.wake == b.wake && (!a.wake || a.contents_lost == b.contents_lost);
  };
  for (Piece& piece : pieces_) {
    const bool fits = !joined.empty() && is_plain_hole(joined.back()) && is_plain_hole(piece) &&
                      share_their_fate(joined.back(), piece) &&
                      joined.back().bytes + piece.bytes <= most_bytes_;
    if (!fits) {
      joined.push_back(std::move(piece));
      continue;
    }
    joined.back().bytes += piece.bytes;
    joined.back().contents_lost = std::max(joined.back().contents_lost, piece.contents_lost);
    --unready_;
  }
  const bool changed = joined.size() != pieces_.size();
  pieces_ = std::move(joined);
  for (uint32_t index = 0; index < count(); ++index) {
    const uint64_t begin = pieces_[index].offset / granularity_;
    const uint64_t end = begin + pieces_[index].bytes / granularity_;
    std::fill(piece_of_.begin() + static_cast<int64_t>(begin),
              piece_of_.begin() + static_cast<int64_t>(end), index);
  }
  return changed;
}

}  // namespace graphtree
