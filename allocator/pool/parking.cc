// Saving, unmapping, mapping again and copying back.
#include "allocator/pool/parking.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "allocator/memory/joined_ranges.h"
#include "device/base/known_enum.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

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

Parking::Parking(const Arena& arena, Door& door, const Ledger& ledger, PoolStreams& streams,
                 Growth& growth, Journal& journal, Watchers& watchers)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      growth_(growth),
      journal_(journal),
      watchers_(watchers) {}

absl::Status Parking::Park(ParkContents contents, absl::Span<const AddressRange> ranges) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_asking()) return door_.NotWhileAsking("park");
  if (!IsKnown(contents, ParkContents::kToHost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pool is parked with ", NotKnown("contents", contents)));
  }
  if (door_.is_parked()) return absl::OkStatus();
  for (const AddressRange& range : ranges) {
    GRAPHTREE_RETURN_IF_ERROR(arena_.CheckIsMine(range));
  }
  std::vector<AddressRange> parts = JoinedRanges({ranges.begin(), ranges.end()});
  door_.SetParkWaits(true);
  return door_.waiting().deferred().Park(
      "park the pool", [this, contents, parts = std::move(parts)] {
        return ParkNow(contents, parts);
      });
}

// Whoever comes in does what waits.
void Parking::ParkIfDue() {
  const Door::Entry entry(door_.guard());
  door_.Enter(entry).IgnoreError();
}

// All contents are saved before anything is released, so a failure to save changes nothing.
absl::Status Parking::ParkNow(ParkContents contents, const std::vector<AddressRange>& ranges) {
  // Until the memory counts as parked, another thread that asks is told that it will be.
  const absl::Cleanup no_park_waits = [this] { door_.SetParkWaits(false); };
  GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());
  if (contents == ParkContents::kToHost) GRAPHTREE_RETURN_IF_ERROR(SaveAll(ranges));
  if (ranges.empty()) door_.SetParked(true);
  absl::Status first = ReleaseParked(Region::kStep, ranges);
  if (first.ok()) first = ReleaseParked(Region::kLasting, ranges);
  door_.SetPartParked(HasPiecesToWake());
  journal_.LogRange(HistoryAction::kPark, {arena_.base(), parked_bytes()});
  return first;
}

absl::Status Parking::SaveAll(const std::vector<AddressRange>& ranges) {
  Buffers step(growth_.row(Region::kStep).count()), lasting(growth_.row(Region::kLasting).count());
  absl::Status status = SaveContents(Region::kStep, ranges, &step);
  if (status.ok()) status = SaveContents(Region::kLasting, ranges, &lasting);
  if (status.ok()) status = streams_.WaitForCopies();
  if (!status.ok()) {
    // Copies may still be queued; nothing that they touch may go, or be written to, before they are
    // done. A wait that failed once may work the next time.
    for (Buffers* saved : {&step, &lasting}) streams_.KeepUntilCopied(std::move(*saved));
    constexpr int kAttempts = 3;
    for (int attempt = 0; attempt < kAttempts && !streams_.Quiesce().ok();) ++attempt;
    return status;
  }
  for (Region region : {Region::kStep, Region::kLasting}) {
    Buffers& saved = region == Region::kStep ? step : lasting;
    for (uint32_t i = 0; i < saved.size(); ++i) {
      if (saved[i] != nullptr) growth_.row(region).SetSaved(i, std::move(saved[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status Parking::ReleaseParked(Region region, const std::vector<AddressRange>& ranges) {
  PieceRow& row = growth_.row(region);
  const std::vector<uint8_t> uses = growth_.PieceUses(region);
  const std::vector<bool> go = PiecesToPark(region, ranges);
  for (uint32_t i = 0; i < row.count(); ++i) {
    Piece& piece = row.piece(i);
    piece.wake = piece.wake || (go[i] && uses[i] != 0);
  }
  for (uint32_t i = 0; i < row.count();) {
    uint32_t end = i;
    while (end < row.count() && go[end]) ++end;
    if (end > i) GRAPHTREE_RETURN_IF_ERROR(ReleaseSpan(region, i, end));
    i = std::max(end, i + 1);
  }
  if (ranges.empty()) row.JoinHoles();
  return absl::OkStatus();
}

bool Parking::HasPiecesToWake() const {
  for (Region region : {Region::kStep, Region::kLasting}) {
    const PieceRow& row = growth_.row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      if (row.piece(i).wake) return true;
    }
  }
  return false;
}

uint64_t Parking::parked_bytes() const {
  uint64_t bytes = 0;
  for (Region region : {Region::kStep, Region::kLasting}) {
    const PieceRow& row = growth_.row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      const Piece& piece = row.piece(i);
      if (piece.wake && !piece.is_mapped()) bytes += piece.bytes;
    }
  }
  return bytes;
}

uint64_t Parking::BytesToWake() {
  uint64_t bytes = 0;
  for (Region region : {Region::kStep, Region::kLasting}) {
    const std::vector<uint8_t> uses = growth_.PieceUses(region);
    PieceRow& row = growth_.row(region);
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

// A piece with a live block that the ranges do not cover stays.
std::vector<bool> Parking::PiecesToPark(Region region,
                                     const std::vector<AddressRange>& ranges) const {
  const PieceRow& row = growth_.row(region);
  std::vector<bool> go(row.count());
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    go[i] = piece.is_mapped() && piece.pins == 0 && IsAmong(row.RangeOf(i), ranges);
  }
  if (ranges.empty()) return go;
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (!record.in_use || !record.is_live() || record.region != region) continue;
    const AddressRange block = arena_.UserRange(record);
    if (block.empty()) continue;
    const uint64_t begin = block.base - row.addresses().base;
    const uint32_t last = row.PieceAt(begin + block.bytes - 1);
    for (uint32_t i = row.PieceAt(begin); i <= last; ++i) {
      if (!IsNamed(block, row.RangeOf(i), ranges)) go[i] = false;
    }
  }
  return go;
}

absl::Status Parking::ReleaseSpan(Region region, uint32_t first, uint32_t end) {
  PieceRow& row = growth_.row(region);
  const uint64_t before = row.mapped_bytes();
  GRAPHTREE_RETURN_IF_ERROR(row.ReleaseSpan(first, end));
  const uint64_t released = before - row.mapped_bytes();
  journal_.LogRange(HistoryAction::kUnmap, {row.RangeOf(first).base, released});
  return absl::OkStatus();
}

// The bytes that somebody may want again: of blocks that are live, and of those that a checkpoint
// remembers, as a replay may have written them though the books have them dead. Disjoint, in
// address order, and cut where a checking device would stop an op.
std::vector<AddressRange> Parking::PartsOfValue(Region region) const {
  std::vector<AddressRange> ranges;
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (record.in_use && record.region == region) ranges.push_back(arena_.ToldRange(record));
  }
  const std::vector<AddressRange> joined = JoinedRanges(std::move(ranges));
  if (!arena_.tells_device()) return joined;
  std::vector<AddressRange> parts;
  for (const AddressRange& range : joined) {
    const std::vector<AddressRange> usable = arena_.memory().UsableParts(range);
    parts.insert(parts.end(), usable.begin(), usable.end());
  }
  return parts;
}

// A piece that has saved contents is left alone: its memory may be mapped again, but the contents
// are not copied back yet.
absl::Status Parking::SaveContents(Region region, const std::vector<AddressRange>& ranges,
                                Buffers* saved) {
  const PieceRow& row = growth_.row(region);
  std::vector<HostBuffer*> buffers(row.count(), nullptr);
  const std::vector<bool> go = PiecesToPark(region, ranges);
  for (const AddressRange& part : PartsOfValue(region)) {
    const uint64_t begin = part.base - row.addresses().base;
    if (begin >= row.covered_bytes()) break;
    const uint32_t last = row.PieceAt(std::min(begin + part.bytes, row.covered_bytes()) - 1);
    for (uint32_t i = row.PieceAt(begin); i <= last; ++i) {
      const Piece& piece = row.piece(i);
      if (!go[i] || piece.saved != nullptr || buffers[i] != nullptr) continue;
      GRAPHTREE_ASSIGN_OR_RETURN((*saved)[i], arena_.memory().AllocateHost(piece.bytes));
      buffers[i] = (*saved)[i].get();
    }
  }
  return CopyParts(region, buffers, /*to_host=*/true);
}

absl::Status Parking::CopyParts(Region region, const std::vector<HostBuffer*>& buffers,
                             bool to_host) {
  const bool any = std::any_of(buffers.begin(), buffers.end(),
                               [](const HostBuffer* buffer) { return buffer != nullptr; });
  if (!any) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, streams_.CopyStream());
  const PieceRow& row = growth_.row(region);
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

absl::Status Parking::Wake() {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_asking()) return door_.NotWhileAsking("wake");
  if (door_.waiting().deferred().is_pending()) {
    return absl::FailedPreconditionError(
        "the pool is to be parked once a capture, or a call that uses its memory, has ended; wake "
        "it after that");
  }
  BytesToWake();  // gives up what nobody needs any more
  if (!MustWriteToWake()) return WakeAll();
  return door_.waiting().deferred().Do("wake the pool", [this] { return WakeAll(); });
}

// Mapping is allowed while a capture is open; waiting for copies is not.
bool Parking::MustWriteToWake() const {
  for (Region region : {Region::kStep, Region::kLasting}) {
    const PieceRow& row = growth_.row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      const Piece& piece = row.piece(i);
      if (piece.wake && (piece.saved != nullptr || watchers_.has_canaries())) return true;
    }
  }
  return false;
}

absl::Status Parking::WakeAll() {
  const auto mapped_in = [](const PieceRow& row) {
    std::vector<bool> mapped(row.count());
    for (uint32_t i = 0; i < row.count(); ++i) mapped[i] = row.piece(i).is_mapped();
    return mapped;
  };
  const std::vector<bool> step_mapped = mapped_in(growth_.row(Region::kStep));
  const std::vector<bool> lasting_mapped = mapped_in(growth_.row(Region::kLasting));
  const uint64_t before = growth_.mapped_bytes();
  if (const absl::Status status = WakeNow(); !status.ok()) {
    ParkAgain(Region::kStep, step_mapped);
    ParkAgain(Region::kLasting, lasting_mapped);
    return status;
  }
  for (Region region : {Region::kStep, Region::kLasting}) {
    PieceRow& row = growth_.row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      row.SetSaved(i, nullptr);
      row.piece(i).wake = false;
    }
  }
  door_.SetParked(false);
  door_.SetPartParked(false);
  journal_.LogRange(HistoryAction::kWake, {arena_.base(), growth_.mapped_bytes() - before});
  return absl::OkStatus();
}

absl::Status Parking::WakeNow() {
  const bool must_write = MustWriteToWake();
  GRAPHTREE_RETURN_IF_ERROR(WakePieces(Region::kStep));
  GRAPHTREE_RETURN_IF_ERROR(WakePieces(Region::kLasting));
  if (!must_write) return absl::OkStatus();
  // Blocks that were made since may have had their guards written.
  GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());
  GRAPHTREE_RETURN_IF_ERROR(BringBack(Region::kStep));
  GRAPHTREE_RETURN_IF_ERROR(BringBack(Region::kLasting));
  GRAPHTREE_RETURN_IF_ERROR(RewriteCanaries());
  return streams_.WaitForCopies();
}

// Best effort: what cannot be unmapped, or may not while a capture is open, stays mapped until it
// is parked again. What has saved contents is not used before a Wake that works brings them back.
void Parking::ParkAgain(Region region, const std::vector<bool>& was_mapped) {
  if (door_.waiting().must_wait()) return;
  if (!streams_.WaitForCopies().ok()) return;
  PieceRow& row = growth_.row(region);
  for (uint32_t i = 0; i < row.count(); ++i) {
    if (!row.piece(i).is_mapped() || (i < was_mapped.size() && was_mapped[i])) continue;
    growth_.Unmap(region, i).IgnoreError();
  }
}

// In runs of neighbours: access rights are given once for each run.
absl::Status Parking::WakePieces(Region region) {
  PieceRow& row = growth_.row(region);
  for (uint32_t i = 0; i < row.count(); ++i) {
    uint32_t next = i;
    while (next < row.count() && row.piece(next).wake) ++next;
    if (next == i) continue;
    const uint64_t end = row.piece(next - 1).offset + row.piece(next - 1).bytes;
    Shortage shortage;
    GRAPHTREE_RETURN_IF_ERROR(growth_.Grow({region, row.piece(i).offset, end}, &shortage));
    i = next - 1;
  }
  return absl::OkStatus();
}

absl::Status Parking::BringBack(Region region) {
  const PieceRow& row = growth_.row(region);
  std::vector<HostBuffer*> buffers(row.count());
  for (uint32_t i = 0; i < row.count(); ++i) buffers[i] = row.piece(i).saved.get();
  return CopyParts(region, buffers, /*to_host=*/false);
}

// Guards in memory whose contents were dropped.
absl::Status Parking::RewriteCanaries() {
  if (!watchers_.has_canaries()) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(Stream * stream, streams_.CopyStream());
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (!record.in_use || !record.is_live() || record.guard == 0) continue;
    const PieceRow& row = growth_.row(record.region);
    for (const AddressRange& guard : watchers_.GuardsOf(record)) {
      const Piece& piece = row.piece(row.PieceAt(guard.base - row.addresses().base));
      if (!piece.wake || piece.saved != nullptr) continue;
      GRAPHTREE_RETURN_IF_ERROR(watchers_.WriteGuard(guard, *stream));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree
