// Parking: the memory leaves, the addresses stay.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kMostJoinedBytes = uint64_t{64} << 20;

bool IsAmong(AddressRange piece, const std::vector<AddressRange>& ranges) {
  if (ranges.empty()) return true;
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return range.Overlaps(piece); });
}

}  // namespace

absl::Status Pool::Park(ParkContents contents, absl::Span<const AddressRange> ranges) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry));
  if (parked_) return absl::OkStatus();
  for (const AddressRange& range : ranges) {
    if (range.empty() || !reserved_.Contains(range)) {
      return absl::InvalidArgumentError(absl::StrCat("[", range.base, ", ", range.end(),
                                                     ") is not memory of pool \"", options_.name,
                                                     "\""));
    }
  }
  std::vector<AddressRange> parts(ranges.begin(), ranges.end());
  return deferred_.Do("park the pool", [this, contents, parts = std::move(parts)] {
    return ParkNow(contents, parts);
  });
}

// What is saved is saved before anything is released, so a failure up to there changes nothing.
absl::Status Pool::ParkNow(ParkContents contents, const std::vector<AddressRange>& ranges) {
  GRAPHTREE_RETURN_IF_ERROR(Quiesce());
  if (contents == ParkContents::kToHost) {
    const absl::Status status = SaveContents(ranges);
    if (!status.ok()) {
      // Copies may still be queued; nothing that they touch may go before they are done.
      Quiesce().IgnoreError();
      ForgetSaved(/*also_parked=*/false);
      return status;
    }
  }
  if (ranges.empty()) parked_ = true;
  absl::Status first;
  for (Region region : {Region::kStep, Region::kKept}) {
    PieceRow& row = this->row(region);
    const std::vector<uint8_t> uses = PieceUses(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      Piece& piece = row.piece(i);
      piece.wake = piece.wake || (MayPark(row, i, ranges) && uses[i] != 0);
    }
    for (uint32_t i = 0; i < row.count() && first.ok();) {
      uint32_t behind = i;
      while (behind < row.count() && MayPark(row, behind, ranges)) ++behind;
      if (behind > i) first = ReleaseRow(region, i, behind);
      i = std::max(behind, i + 1);
    }
    if (ranges.empty()) row.JoinHoles(kMostJoinedBytes);
  }
  LogEvent(HistoryAction::kPark, reserved_.base, stats_.parked_bytes, nullptr);
  return first;
}

absl::Status Pool::Quiesce() {
  GRAPHTREE_RETURN_IF_ERROR(streams_.SynchronizeAll());
  return copy_stream_ == nullptr ? absl::OkStatus() : copy_stream_->Synchronize();
}

bool Pool::MayPark(const PieceRow& row, uint32_t index, const std::vector<AddressRange>& ranges) {
  const Piece& piece = row.piece(index);
  return piece.is_mapped() && piece.pins == 0 && IsAmong(row.RangeOf(index), ranges);
}

absl::Status Pool::ReleaseRow(Region region, uint32_t first, uint32_t behind) {
  PieceRow& row = this->row(region);
  const uint64_t before = row.mapped_bytes();
  GRAPHTREE_RETURN_IF_ERROR(row.ReleaseSpan(first, behind));
  const uint64_t released = before - row.mapped_bytes();
  stats_.parked_bytes += released;
  LogEvent(HistoryAction::kUnmap, row.RangeOf(first).base, released, nullptr);
  return absl::OkStatus();
}

absl::Status Pool::SaveContents(const std::vector<AddressRange>& ranges) {
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, CopyStream());
  for (Region region : {Region::kStep, Region::kKept}) {
    PieceRow& row = this->row(region);
    const std::vector<uint8_t> uses = PieceUses(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      Piece& piece = row.piece(i);
      if (!MayPark(row, i, ranges) || (uses[i] & kUsedByLive) == 0) continue;
      GRAPHTREE_ASSIGN_OR_RETURN(piece.saved, device_.memory().AllocateHost(piece.bytes));
    }
    GRAPHTREE_RETURN_IF_ERROR(CopyLive(region, *stream, /*to_host=*/true));
  }
  return stream->Synchronize();
}

// Copies what is live, block by block, between the pieces and their saved buffers: the bytes in
// between are nobody's, and a device that checks accesses would say so.
absl::Status Pool::CopyLive(Region region, Stream& stream, bool to_host) {
  PieceRow& row = this->row(region);
  const Placement& placement = ledger_.placement(region);
  for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
    if (!placement.run(id).is_live()) continue;
    const BlockRecord& record = ledger_.record(placement.run(id).owner());
    const AddressRange block = ToldRange(record);
    const uint64_t begin = block.base - row.addresses().base;
    for (uint64_t at = begin; at < begin + block.bytes;) {
      const Piece& piece = row.piece(row.PieceAt(at));
      const uint64_t bytes = std::min(begin + block.bytes, piece.offset + piece.bytes) - at;
      // Parts that were parked before are saved already, and there is nothing to read.
      if (piece.saved != nullptr && piece.is_mapped()) {
        const Address here = row.addresses().base + at;
        const Address there = piece.saved->range().base + (at - piece.offset);
        GRAPHTREE_RETURN_IF_ERROR(to_host ? stream.Copy(there, here, bytes)
                                          : stream.Copy(here, there, bytes));
      }
      at += bytes;
    }
  }
  return absl::OkStatus();
}

void Pool::ForgetSaved(bool also_parked) {
  for (Region region : {Region::kStep, Region::kKept}) {
    for (uint32_t i = 0; i < row(region).count(); ++i) {
      Piece& piece = row(region).piece(i);
      if (also_parked || piece.is_mapped()) piece.saved.reset();
    }
  }
}

absl::StatusOr<Stream*> Pool::CopyStream() {
  if (copy_stream_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(copy_stream_, device_.NewStream());
  }
  return copy_stream_.get();
}

absl::Status Pool::Wake() {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry));
  if (deferred_.must_wait() && deferred_.size() > 0) {
    return absl::FailedPreconditionError(
        "the pool is to be parked once a capture has ended; wake it after that");
  }
  GRAPHTREE_RETURN_IF_ERROR(deferred_.Drain());
  const uint64_t before = mapped_bytes();
  for (Region region : {Region::kStep, Region::kKept}) {
    GRAPHTREE_RETURN_IF_ERROR(WakePieces(region));
  }
  GRAPHTREE_RETURN_IF_ERROR(BringBack());
  ForgetSaved(/*also_parked=*/true);
  for (Region region : {Region::kStep, Region::kKept}) {
    for (uint32_t i = 0; i < row(region).count(); ++i) row(region).piece(i).wake = false;
  }
  stats_.parked_bytes = 0;
  parked_ = false;
  LogEvent(HistoryAction::kWake, reserved_.base, mapped_bytes() - before, nullptr);
  return absl::OkStatus();
}

// In runs of neighbours: access rights are given once for each run.
absl::Status Pool::WakePieces(Region region) {
  PieceRow& row = this->row(region);
  for (uint32_t i = 0; i < row.count(); ++i) {
    uint32_t behind = i;
    while (behind < row.count() && row.piece(behind).wake) ++behind;
    if (behind == i) continue;
    const uint64_t end = row.piece(behind - 1).offset + row.piece(behind - 1).bytes;
    Shortage shortage;
    GRAPHTREE_RETURN_IF_ERROR(Grow(region, row.piece(i).offset, end, &shortage));
    i = behind - 1;
  }
  return absl::OkStatus();
}

absl::Status Pool::BringBack() {
  bool any = false;
  for (Region region : {Region::kStep, Region::kKept}) {
    for (uint32_t i = 0; i < row(region).count(); ++i) {
      any = any || row(region).piece(i).saved != nullptr;
    }
  }
  if (!any) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, CopyStream());
  for (Region region : {Region::kStep, Region::kKept}) {
    GRAPHTREE_RETURN_IF_ERROR(CopyLive(region, *stream, /*to_host=*/false));
  }
  return stream->Synchronize();
}

}  // namespace graphtree
