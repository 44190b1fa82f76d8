// Telling the device, the history and the debug modes what happens to blocks.
#include "allocator/pool/watchers.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "absl/strings/str_cat.h"
#include "allocator/placement/placement.h"
#include "device/base/status_macros.h"

namespace graphtree {

Watchers::Watchers(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams,
                   Growth& growth, Journal& journal, Tally& tally)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      growth_(growth),
      journal_(journal),
      tally_(tally),
      debugger_(&arena.device(), arena.debug()),
      any_(arena.tells_device() || journal.history().is_on() || debugger_.any()) {}

void Watchers::Shield(AddressRange range) {
  const Door::Entry entry(door_.guard());
  if (!door_.IsRefused(entry, "Shield")) shielded_.push_back(range);
}

void Watchers::Unshield() {
  const Door::Entry entry(door_.guard());
  if (!door_.IsRefused(entry, "Unshield")) shielded_.clear();
}

bool Watchers::IsShielded(AddressRange range) const {
  return std::any_of(shielded_.begin(), shielded_.end(),
                     [range](AddressRange shield) { return shield.Overlaps(range); });
}

void Watchers::TellOfAllocation(const BlockRecord& record) {
  journal_.Log(HistoryAction::kAllocate, record);
  // The device was told of a block with canaries before they were written.
  if (!(has_canaries() && record.guard != 0)) TellOfLife(record);
}

void Watchers::TellOfLife(const BlockRecord& record) {
  if (!arena_.tells_device()) return;
  const AddressRange range = arena_.ToldRange(record);
  if (IsShielded(range)) {
    arena_.memory().NoteRevived(range, journal_.Text(record.tag));
  } else {
    arena_.memory().NoteLive(range, journal_.Text(record.tag));
  }
}

void Watchers::TellOfFree(BlockId id, const BlockRecord& record) {
  if (debugger_.any()) DebugFreed(id, record);
  journal_.Log(HistoryAction::kFreeRequested, record);
  const AddressRange range = arena_.ToldRange(record);
  if (arena_.tells_device() && !IsShielded(range)) {
    arena_.memory().NoteDead(range, journal_.Text(record.tag));
  }
  journal_.Log(HistoryAction::kFreeCompleted, record);
}

void Watchers::TellOfFreeAgain(const BlockRecord& record) {
  if (arena_.tells_device()) {
    arena_.memory().NoteDead(arena_.ToldRange(record), journal_.Text(record.tag));
  }
  journal_.Log(HistoryAction::kFreeRequested, record);
  journal_.Log(HistoryAction::kFreeCompleted, record);
}

// Bytes that come back to life hold what was written to them, also while the books had them dead: a
// replay writes memory that is free in the books. Only what stays dead is told as dead.
void Watchers::TellOfRestore(absl::Span<const uint32_t> dies, absl::Span<const uint32_t> wakes) {
  for (uint32_t index : dies) journal_.Log(HistoryAction::kRestoreGone, ledger_.record(index));
  for (uint32_t index : wakes) journal_.Log(HistoryAction::kRestoreBack, ledger_.record(index));
  if (arena_.tells_device()) {
    std::vector<AddressRange> waking;
    for (uint32_t index : wakes) waking.push_back(arena_.WholeRange(ledger_.record(index)));
    for (uint32_t index : dies) {
      const AddressRange range = arena_.WholeRange(ledger_.record(index));
      const bool overlaps =
          std::any_of(waking.begin(), waking.end(),
                      [&](const AddressRange& other) { return other.Overlaps(range); });
      if (!overlaps) arena_.memory().NoteDead(range, "a checkpoint was restored");
    }
    for (uint32_t index : wakes) {
      const BlockRecord& record = ledger_.record(index);
      arena_.memory().NoteRevived(arena_.ToldRange(record), journal_.Text(record.tag));
    }
  }
  WriteGuardsAgain(wakes);
}

absl::Status Watchers::BeforeUse(const BlockRecord& record, Stream& stream) {
  if (!has_canaries() || record.guard == 0) return absl::OkStatus();
  TellOfLife(record);
  return WriteGuards(record, stream);
}

std::array<AddressRange, 2> Watchers::GuardsOf(const BlockRecord& record) const {
  const AddressRange whole = arena_.WholeRange(record);
  const Address user = arena_.AddressOf(record.user_offset());
  return {AddressRange{whole.base, user - whole.base},
          AddressRange{whole.end() - kQuantum, kQuantum}};
}

absl::Status Watchers::WriteGuards(const BlockRecord& record, Stream& stream) {
  for (const AddressRange& guard : GuardsOf(record)) {
    GRAPHTREE_RETURN_IF_ERROR(WriteGuard(guard, stream));
  }
  return absl::OkStatus();
}

// While a block was dead its guards may have been other blocks' bytes. Guards that cannot be
// written now, because the write would become a part of somebody's capture, are written by the next
// check.
void Watchers::WriteGuardsAgain(absl::Span<const uint32_t> blocks) {
  if (!has_canaries()) return;
  for (uint32_t index : blocks) {
    BlockRecord& record = ledger_.mutable_record(index);
    if (record.guard == 0) continue;
    record.unguarded = true;
    if (door_.waiting().must_wait() || !growth_.IsReady(arena_.ExtentOf(record))) continue;
    const absl::Status status =
        AfterItsUsers(record, [&](Stream& stream) { return WriteGuards(record, stream); });
    record.unguarded = !status.ok();
  }
}

// Best effort: a block is free whether or not its bytes could be written over.
void Watchers::DebugFreed(BlockId id, const BlockRecord& record) {
  if (debugger_.modes().remember_frees) {
    debugger_.RememberFree(
        id, absl::StrCat("as the ", tally_.counts().frees + 1, "th free of the pool, ",
                         journal_.NameOf(record), ", while the context was \"",
                         journal_.context(), "\""));
  }
  // What is parked has no bytes to poison.
  if (!debugger_.modes().poison_on_free || !growth_.IsReady(arena_.ExtentOf(record))) return;
  const absl::Status poisoned = AfterItsUsers(record, [&](Stream& stream) {
    return debugger_.Poison(arena_.ToldRange(record), stream);
  });
  if (!poisoned.ok()) ++tally_.counts().unpoisoned_frees;
}

// On one of the streams that used the block: in a capture not each of them can wait for the others.
absl::Status Watchers::AfterItsUsers(const BlockRecord& record,
                                     const std::function<absl::Status(Stream&)>& work) {
  absl::Status status =
      absl::FailedPreconditionError("all streams that used the block were forgotten or are gone");
  StreamTable& table = streams_.table();
  table.NoteFreedByBooks(record.streams);
  table.SettleAside();
  if (table.aside().EndOfOverlap(QuantaOf(record)) != 0) {
    return absl::FailedPreconditionError(
        "a stream that used the block is in somebody's capture, and cannot be waited for");
  }
  const LastUse use = {record.streams, table.now()};
  for (uint32_t bits = record.streams; bits != 0; bits &= bits - 1) {
    // In a capture of somebody else's the work would be done each time that graph is launched.
    if (table.streams().IsInForeignCapture(static_cast<uint32_t>(std::countr_zero(bits)))) continue;
    const std::shared_ptr<StreamLife> user = table.streams().AnyOf(bits & -bits);
    if (user == nullptr) continue;
    bool is_ordered = false;
    status = user->Use([&](Stream& stream) {
      const uint32_t number = table.NumberOf(stream);
      uint32_t users = 0;
      if (table.MustOrder(number, use)) {
        GRAPHTREE_RETURN_IF_ERROR(table.Order(number, stream, use, &users));
      }
      is_ordered = true;
      return work(stream);
    });
    if (is_ordered) return status;
  }
  return status;
}

absl::Status Watchers::CheckCanaries(Stream& stream) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_parked()) return door_.UsedWhileParked("checking canaries");
  if (door_.waiting().must_wait()) {
    return absl::FailedPreconditionError("canaries are checked by waiting for a kernel; a capture "
                                         "is open. Check after it.");
  }
  if (!has_canaries()) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(streams_.Check(stream));
  GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());  // guards are written on their blocks' streams
  std::vector<PoolDebugger::Guard> guards;
  absl::Status status = ListGuards(stream, &guards);
  if (status.ok()) status = debugger_.CheckCanaries(guards, stream);
  // A check that fails may leave work on the stream that touches guards.
  if (!status.ok()) streams_.table().UsedEverywhereOn(streams_.table().NumberOf(stream));
  return status;
}

// Also writes the guards of blocks that came back and could not have them written then.
absl::Status Watchers::ListGuards(Stream& stream, std::vector<PoolDebugger::Guard>* guards) {
  for (Region region : {Region::kStep, Region::kLasting}) {
    const Placement& placement = ledger_.placement(region);
    for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
      if (!placement.run(id).is_live()) continue;
      BlockRecord& record = ledger_.mutable_record(placement.run(id).owner());
      if (record.guard == 0 || !growth_.IsReady(arena_.ExtentOf(record))) continue;
      if (record.unguarded) GRAPHTREE_RETURN_IF_ERROR(WriteGuards(record, stream));
      record.unguarded = false;
      const auto [front, rear] = GuardsOf(record);
      guards->push_back({front, journal_.NameOf(record), true});
      guards->push_back({rear, journal_.NameOf(record), false});
    }
  }
  return absl::OkStatus();
}

absl::Status Watchers::SealDeadMemory() {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (!debugger_.modes().seal_dead_memory || door_.is_parked()) return absl::OkStatus();
  if (door_.waiting().must_wait()) {
    return absl::FailedPreconditionError("dead memory is sealed after its work is done, and a "
                                         "capture is open. Seal it after that.");
  }
  GRAPHTREE_RETURN_IF_ERROR(streams_.Quiesce());
  // A recording's memory is not dead: replays use it, and a restore may bring it back.
  for (Region region : {Region::kStep, Region::kLasting}) {
    const std::vector<uint8_t> uses = growth_.PieceUses(region);
    PieceRow& row = growth_.row(region);
    for (uint32_t i = 0; i < row.count(); ++i) {
      if (uses[i] != 0 || row.piece(i).pins > 0) continue;
      GRAPHTREE_RETURN_IF_ERROR(row.SetAccessible(i, false));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree
