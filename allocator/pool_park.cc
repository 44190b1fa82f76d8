// Parking: the memory leaves, the addresses stay.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/joined_ranges.h"
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

// Whether all bytes of the block inside the piece are in one of the ranges.
bool IsNamed(AddressRange block, AddressRange piece, const std::vector<AddressRange>& ranges) {
  const Address begin = std::max(block.base, piece.base);
  const AddressRange inside = {begin, std::min(block.end(), piece.end()) - begin};
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return range.Contains(inside); });
}

}  // namespace

absl::Status Pool::Park(ParkContents contents, absl::Span<const AddressRange> ranges) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (asks_server_) return NotWhileAsking("park");
  FreeScratch();
  if (parked_) return absl::OkStatus();
  for (const AddressRange& range : ranges) {
    if (range.empty() || !reserved_.Contains(range)) {
      return absl::InvalidArgumentError(absl::StrCat("[", range.base, ", ", range.end(),
                                                     ") is not memory of pool \"", options_.name,
                                                     "\""));
    }
  }
  std::vector<AddressRange> parts = JoinedRanges({ranges.begin(), ranges.end()});
  return deferred_.Do("park the pool", [this, contents, parts = std::move(parts)] {
    return ParkNow(contents, parts);
  });
}

// What is saved is saved before anything is released, so a failure up to there changes nothing.
absl::Status Pool::ParkNow(ParkContents contents, const std::vector<AddressRange>& ranges) {
  GRAPHTREE_RETURN_IF_ERROR(Quiesce());
  if (contents == ParkContents::kToHost) {
    Buffers step(step_.count()), kept(kept_.count());
    absl::Status status = SaveContents(Region::kStep, ranges, &step);
    if (status.ok()) status = SaveContents(Region::kKept, ranges, &kept);
    if (status.ok() && copy_stream_ != nullptr) status = copy_stream_->Synchronize();
    if (!status.ok()) {
      // Copies may still be queued; nothing that they touch may go, or be written to, before they
      // are done. A wait that failed once may work the next time.
      for (Buffers* saved : {&step, &kept}) {
        for (auto& buffer : *saved) unsettled_.push_back(std::move(buffer));
      }
      constexpr int kAttempts = 3;
      for (int attempt = 0; attempt < kAttempts && !Quiesce().ok();) ++attempt;
      return status;
    }
    for (auto* saved : {&step, &kept}) {
      PieceRow& row = saved == &step ? step_ : kept_;
      for (uint32_t i = 0; i < row.count(); ++i) {
        if ((*saved)[i] != nullptr) row.SetSaved(i, std::move((*saved)[i]));
      }
    }
  }
  if (ranges.empty()) parked_ = true;
  absl::Status first = ReleaseParked(Region::kStep, ranges);
  if (first.ok()) first = ReleaseParked(Region::kKept, ranges);
  LogEvent(HistoryAction::kPark, reserved_.base, parked_bytes(), nullptr);
  return first;
}

absl::Status Pool::ReleaseParked(Region region, const std::vector<AddressRange>& ranges) {
  PieceRow& row = this->row(region);
  const std::vector<uint8_t> uses = PieceUses(region);
  const std::vector<bool> go = PiecesToPark(region, ranges);
  for (uint32_t i = 0; i < row.count(); ++i) {
    Piece& piece = row.piece(i);
    piece.wake = piece.wake || (go[i] && uses[i] != 0);
  }
  for (uint32_t i = 0; i < row.count();) {
    uint32_t behind = i;
    while (behind < row.count() && go[behind]) ++behind;
    if (behind > i) GRAPHTREE_RETURN_IF_ERROR(ReleaseRow(region, i, behind));
    i = std::max(behind, i + 1);
  }
  if (ranges.empty()) row.JoinHoles(kMostJoinedBytes);
  return absl::OkStatus();
}

uint64_t Pool::parked_bytes() const {
  uint64_t bytes = 0;
  for (const PieceRow* row : {&step_, &kept_}) {
    for (uint32_t i = 0; i < row->count(); ++i) {
      const Piece& piece = row->piece(i);
      if (piece.wake && !piece.is_mapped()) bytes += piece.bytes;
    }
  }
  return bytes;
}

absl::Status Pool::Quiesce() {
  ForgetGuests().IgnoreError();  // what cannot be forgotten yet is waited for with the others
  const absl::Status status = streams_.SynchronizeAll();
  if (copy_stream_ == nullptr) return status;
  const absl::Status copied = copy_stream_->Synchronize();
  if (copied.ok()) unsettled_.clear();
  return status.ok() ? copied : status;
}

// A piece in which somebody lives who was not named stays.
std::vector<bool> Pool::PiecesToPark(Region region,
                                     const std::vector<AddressRange>& ranges) const {
  const PieceRow& row = this->row(region);
  std::vector<bool> go(row.count());
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    go[i] = piece.is_mapped() && piece.pins == 0 && IsAmong(row.RangeOf(i), ranges);
  }
  if (ranges.empty()) return go;
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (!record.in_use || !record.is_live() || record.region != region) continue;
    const AddressRange block = BlockOf(ledger_.IdOf(index)).range;
    if (block.empty()) continue;
    const uint64_t begin = block.base - row.addresses().base;
    const uint32_t last = row.PieceAt(begin + block.bytes - 1);
    for (uint32_t i = row.PieceAt(begin); i <= last; ++i) {
      if (!IsNamed(block, row.RangeOf(i), ranges)) go[i] = false;
    }
  }
  return go;
}

absl::Status Pool::ReleaseRow(Region region, uint32_t first, uint32_t behind) {
  PieceRow& row = this->row(region);
  const uint64_t before = row.mapped_bytes();
  GRAPHTREE_RETURN_IF_ERROR(row.ReleaseSpan(first, behind));
  const uint64_t released = before - row.mapped_bytes();
  LogEvent(HistoryAction::kUnmap, row.RangeOf(first).base, released, nullptr);
  return absl::OkStatus();
}

// The bytes that somebody may want again: of blocks that are live, and of those that a checkpoint
// remembers, as a replay may have written them though the books have them dead. Disjoint, in
// address order; a device that checks is asked where it would let an op go.
std::vector<AddressRange> Pool::PartsOfValue(Region region) const {
  std::vector<AddressRange> ranges;
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (record.in_use && record.region == region) ranges.push_back(ToldRange(record));
  }
  const std::vector<AddressRange> joined = JoinedRanges(std::move(ranges));
  if (!tells_device_) return joined;
  std::vector<AddressRange> parts;
  for (const AddressRange& range : joined) {
    const std::vector<AddressRange> usable = device_.memory().UsableParts(range);
    parts.insert(parts.end(), usable.begin(), usable.end());
  }
  return parts;
}

// What is saved already is left alone: the memory may be mapped by now, but its contents are not
// back.
absl::Status Pool::SaveContents(Region region, const std::vector<AddressRange>& ranges,
                                Buffers* saved) {
  const PieceRow& row = this->row(region);
  std::vector<HostBuffer*> buffers(row.count(), nullptr);
  const std::vector<bool> go = PiecesToPark(region, ranges);
  for (const AddressRange& part : PartsOfValue(region)) {
    const uint64_t begin = part.base - row.addresses().base;
    if (begin >= row.covered_bytes()) break;
    const uint32_t last = row.PieceAt(std::min(begin + part.bytes, row.covered_bytes()) - 1);
    for (uint32_t i = row.PieceAt(begin); i <= last; ++i) {
      const Piece& piece = row.piece(i);
      if (!go[i] || piece.saved != nullptr || buffers[i] != nullptr) continue;
      GRAPHTREE_ASSIGN_OR_RETURN((*saved)[i], device_.memory().AllocateHost(piece.bytes));
      buffers[i] = (*saved)[i].get();
    }
  }
  return CopyParts(region, buffers, /*to_host=*/true);
}

absl::Status Pool::CopyParts(Region region, const std::vector<HostBuffer*>& buffers,
                             bool to_host) {
  const bool any = std::any_of(buffers.begin(), buffers.end(),
                               [](const HostBuffer* buffer) { return buffer != nullptr; });
  if (!any) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, CopyStream());
  const PieceRow& row = this->row(region);
  for (const AddressRange& part : PartsOfValue(region)) {
    const uint64_t begin = part.base - row.addresses().base;
    const uint64_t end = std::min(begin + part.bytes, row.covered_bytes());
    for (uint64_t at = begin; at < end;) {
      const uint32_t i = row.PieceAt(at);
      const Piece& piece = row.piece(i);
      const uint64_t bytes = std::min(end, piece.offset + piece.bytes) - at;
      if (buffers[i] != nullptr) {
        const Address here = row.addresses().base + at;
        const Address there = buffers[i]->range().base + (at - piece.offset);
        GRAPHTREE_RETURN_IF_ERROR(to_host ? stream->Copy(there, here, bytes)
                                          : stream->Copy(here, there, bytes));
      }
      at += bytes;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Stream*> Pool::CopyStream() {
  if (copy_stream_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(copy_stream_, device_.NewStream());
  }
  return copy_stream_.get();
}

absl::Status Pool::Wake() {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (asks_server_) return NotWhileAsking("wake");
  if (deferred_.is_pending()) {
    return absl::FailedPreconditionError(
        "the pool is to be parked once a capture has ended; wake it after that");
  }
  BytesToWake();  // gives up what nobody needs any more
  if (!MustWriteToWake()) return WakeAll();
  return deferred_.Do("wake the pool", [this] { return WakeAll(); });
}

// Mapping is allowed while a capture is open; waiting for copies is not.
bool Pool::MustWriteToWake() const {
  for (const PieceRow* row : {&step_, &kept_}) {
    for (uint32_t i = 0; i < row->count(); ++i) {
      const Piece& piece = row->piece(i);
      if (piece.wake && (piece.saved != nullptr || debugger_.modes().canaries)) return true;
    }
  }
  return false;
}

absl::Status Pool::WakeAll() {
  const auto mapped_in = [](const PieceRow& row) {
    std::vector<bool> mapped(row.count());
    for (uint32_t i = 0; i < row.count(); ++i) mapped[i] = row.piece(i).is_mapped();
    return mapped;
  };
  const std::vector<bool> step_mapped = mapped_in(step_), kept_mapped = mapped_in(kept_);
  const uint64_t before = mapped_bytes();
  if (const absl::Status status = WakeNow(); !status.ok()) {
    ParkAgain(Region::kStep, step_mapped);
    ParkAgain(Region::kKept, kept_mapped);
    return status;
  }
  for (Region region : {Region::kStep, Region::kKept}) {
    for (uint32_t i = 0; i < row(region).count(); ++i) {
      row(region).SetSaved(i, nullptr);
      row(region).piece(i).wake = false;
    }
  }
  parked_ = false;
  LogEvent(HistoryAction::kWake, reserved_.base, mapped_bytes() - before, nullptr);
  return absl::OkStatus();
}

absl::Status Pool::WakeNow() {
  const bool must_write = MustWriteToWake();
  GRAPHTREE_RETURN_IF_ERROR(WakePieces(Region::kStep));
  GRAPHTREE_RETURN_IF_ERROR(WakePieces(Region::kKept));
  if (!must_write) return absl::OkStatus();
  // Blocks that were made since may have had their guards written.
  GRAPHTREE_RETURN_IF_ERROR(Quiesce());
  GRAPHTREE_RETURN_IF_ERROR(BringBack(Region::kStep));
  GRAPHTREE_RETURN_IF_ERROR(BringBack(Region::kKept));
  GRAPHTREE_RETURN_IF_ERROR(RewriteCanaries());
  return copy_stream_ == nullptr ? absl::OkStatus() : copy_stream_->Synchronize();
}

// Best effort: what cannot be unmapped, or may not while a capture is open, stays mapped until it
// is parked again. What has saved contents is not used before a Wake that works brings them back.
void Pool::ParkAgain(Region region, const std::vector<bool>& was_mapped) {
  if (deferred_.must_wait()) return;
  if (copy_stream_ != nullptr && !copy_stream_->Synchronize().ok()) return;
  PieceRow& row = this->row(region);
  for (uint32_t i = 0; i < row.count(); ++i) {
    if (!row.piece(i).is_mapped() || (i < was_mapped.size() && was_mapped[i])) continue;
    const AddressRange range = row.RangeOf(i);
    if (!row.Release(i).ok()) continue;
    LogEvent(HistoryAction::kUnmap, range.base, range.bytes, nullptr);
  }
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
    GRAPHTREE_RETURN_IF_ERROR(Grow({region, row.piece(i).offset, end}, &shortage));
    i = behind - 1;
  }
  return absl::OkStatus();
}

absl::Status Pool::BringBack(Region region) {
  const PieceRow& row = this->row(region);
  std::vector<HostBuffer*> buffers(row.count());
  for (uint32_t i = 0; i < row.count(); ++i) buffers[i] = row.piece(i).saved.get();
  return CopyParts(region, buffers, /*to_host=*/false);
}

// Guards in memory whose contents were dropped.
absl::Status Pool::RewriteCanaries() {
  if (!debugger_.modes().canaries) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, CopyStream());
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (!record.in_use || !record.is_live() || record.guard == 0) continue;
    const AddressRange whole = WholeRange(record);
    const Address user = AddressOfQuantum(record.user_offset());
    const PieceRow& row = this->row(record.region);
    for (const AddressRange& guard : {AddressRange{whole.base, user - whole.base},
                                      AddressRange{whole.end() - kQuantum, kQuantum}}) {
      const Piece& piece = row.piece(row.PieceAt(guard.base - row.addresses().base));
      if (!piece.wake || piece.saved != nullptr) continue;
      GRAPHTREE_RETURN_IF_ERROR(debugger_.WriteCanary(guard, *stream));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree
