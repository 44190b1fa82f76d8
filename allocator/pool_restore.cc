// Checkpoints of a pool.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"

namespace graphtree {

absl::StatusOr<CheckpointTree::NodeId> Pool::NodeOf(CheckpointId id) const {
  if (id.pool != serial_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the checkpoint was taken of another pool than \"", options_.name, "\""));
  }
  const CheckpointTree::NodeId node = ledger_.FindCheckpoint(id.index, id.generation);
  if (node == kNoId) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint ", id.index, " of pool \"", options_.name, "\" was dropped"));
  }
  return node;
}

absl::StatusOr<CheckpointId> Pool::Take() {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (asks_server_) return NotWhileAsking("take a checkpoint of");
  FreeScratch();
  const CheckpointTree::NodeId node = ledger_.Take(clock_);
  return CheckpointId{node, ledger_.checkpoints().node(node).generation, serial_};
}

absl::Status Pool::Drop(CheckpointId checkpoint) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId node, NodeOf(checkpoint));
  ledger_.Drop(node);
  return absl::OkStatus();
}

absl::StatusOr<bool> Pool::IsAt(CheckpointId checkpoint) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId node, NodeOf(checkpoint));
  ledger_.Plan(node, {}, {}, &plan_);
  // A guest is live now, and would survive a restore, but the checkpoint does not know it.
  return plan_.dies.empty() && plan_.wakes.empty() && plan_.guests.empty();
}

absl::StatusOr<bool> Pool::HasItsMemory(CheckpointId checkpoint) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId id, NodeOf(checkpoint));
  const CheckpointTree::Node& node = ledger_.checkpoints().node(id);
  for (uint32_t sector : node.footprint) {
    const uint64_t begin = uint64_t{sector} << kSectorShift;
    const uint64_t end = begin + (uint64_t{1} << kSectorShift);
    for (uint32_t i = 0; i < step_.count(); ++i) {
      const Piece& piece = step_.piece(i);
      const bool inside = piece.offset < end && begin < piece.offset + piece.bytes;
      if (inside && (piece.wake || piece.contents_lost > node.time)) return false;
    }
  }
  return true;
}

absl::Status Pool::WhyNotRestored(const RestorePlan& plan) const {
  if (plan.outcome == RestoreOutcome::kNotLiveThere) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", plan.culprit.index, " of generation ", plan.culprit.generation,
        " was named as surviving or dying, but is live neither now nor at the checkpoint (or was "
        "named as both, or lies in the kept region). Nothing was restored."));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      NameOf(ledger_.record(plan.culprit.index)), " of the checkpoint lies where ",
      NameOf(ledger_.record(plan.other.index)),
      " is to survive. Free that one, or name it as dying. Nothing was restored."));
}

// A block that comes back must still have its bytes.
absl::Status Pool::CheckContents(const RestorePlan& plan) const {
  const uint64_t taken = ledger_.checkpoints().node(plan.target).time;
  for (uint32_t index : plan.wakes) {
    const BlockRecord& record = ledger_.record(index);
    const uint64_t begin = uint64_t{record.offset} * kQuantum;
    const uint64_t end = begin + uint64_t{record.length} * kQuantum;
    for (uint32_t i = 0; i < step_.count(); ++i) {
      const Piece& piece = step_.piece(i);
      const bool inside = piece.offset < end && begin < piece.offset + piece.bytes;
      if (!inside || piece.contents_lost <= taken) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("the checkpoint is older than a trim that broke it: the memory of ",
                       NameOf(record), " was given back since. Record again."));
    }
  }
  return absl::OkStatus();
}

absl::Status Pool::Restore(CheckpointId checkpoint, const RestoreOptions& options) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (asks_server_) return NotWhileAsking("restore");
  if (IsCapturedFrom()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "pool \"", options_.name, "\" cannot be restored while a capture allocates from it. End "
        "the capture first."));
  }
  FreeScratch();
  if (parked_) return UsedWhileParked("restoring");
  return RestoreNow(checkpoint, options);
}

// A capture by somebody else whose streams this pool has never seen cannot hold its memory: the
// body of one tree may call another.
bool Pool::IsCapturedFrom() {
  return !scopes_.empty() || (device_.open_captures() > 0 && streams_.AnyIsCapturing());
}

absl::Status Pool::RestoreNow(CheckpointId checkpoint, const RestoreOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId node, NodeOf(checkpoint));
  ledger_.Plan(node, options.surviving, options.dying, &plan_);
  if (plan_.outcome != RestoreOutcome::kReady) return WhyNotRestored(plan_);
  // No piece was lost since: the usual case, and one compare.
  if (ledger_.checkpoints().node(node).time != clock_) {
    GRAPHTREE_RETURN_IF_ERROR(CheckContents(plan_));
  }
  if (ledger_.Apply(&plan_, streams_.now()) != RestoreOutcome::kReady) {
    return WhyNotRestored(plan_);
  }
  AdoptState();
  CountPeaks();  // with survivors more may be live than ever was
  if (tells_device_) TellDevice(plan_);
  GuardAgain(plan_.wakes);
  ++stats_.restores;
  LogEvent(HistoryAction::kCheckpointRestore, 0, stats_.live_bytes, nullptr);
  return absl::OkStatus();
}

// Counts and notes what the plan changed; peaks and totals of calls stay as they are.
void Pool::AdoptState() {
  for (uint32_t index : plan_.dies) {
    CountDead(ledger_.record(index));
    Log(HistoryAction::kRestoreGone, ledger_.record(index));
  }
  for (uint32_t index : plan_.wakes) {
    CountBack(ledger_.record(index));
    Log(HistoryAction::kRestoreBack, ledger_.record(index));
  }
}

// Bytes that come back to life hold what was written to them, also while the books had them dead: a
// replay writes memory that is free in the books. Only what stays dead is told as dead.
void Pool::TellDevice(const RestorePlan& plan) {
  std::vector<AddressRange> waking;
  for (uint32_t index : plan.wakes) waking.push_back(WholeRange(ledger_.record(index)));
  for (uint32_t index : plan.dies) {
    const AddressRange range = WholeRange(ledger_.record(index));
    const bool overlaps = std::any_of(waking.begin(), waking.end(), [&](const AddressRange& r) {
      return r.Overlaps(range);
    });
    if (!overlaps) device_.memory().NoteDead(range, "a checkpoint was restored");
  }
  for (uint32_t index : plan.wakes) {
    const BlockRecord& record = ledger_.record(index);
    device_.memory().NoteRevived(ToldRange(record), words_[record.tag]);
  }
}

Pool::Mapped Pool::MappedNow(Region region) const {
  const PieceRow& row = this->row(region);
  Mapped mapped = {row.covered_bytes(), {}};
  for (uint32_t i = 0; i < row.count(); ++i) {
    if (!row.piece(i).is_mapped()) mapped.holes.push_back(row.piece(i).offset);
  }
  return mapped;
}

// What was not mapped before, unless something lives there by now.
absl::Status Pool::ReturnGrowth(Region region, const Mapped& before) {
  PieceRow& row = this->row(region);
  const std::vector<uint8_t> uses = PieceUses(region);
  std::vector<uint32_t> grown;
  uint32_t first_to_go = row.count();
  for (uint32_t i = row.count(); i-- > 0;) {
    const Piece& piece = row.piece(i);
    const bool is_behind = piece.offset >= before.covered;
    const bool was_hole = std::find(before.holes.begin(), before.holes.end(), piece.offset) !=
                          before.holes.end();
    if (uses[i] != 0 || piece.pins > 0 || !(is_behind || was_hole)) continue;
    if (is_behind && first_to_go == i + 1) first_to_go = i;
    if (piece.is_mapped()) grown.push_back(i);
  }
  // Eager work of the scope may still use it.
  if (!grown.empty()) GRAPHTREE_RETURN_IF_ERROR(Quiesce());
  for (uint32_t i : grown) {
    const AddressRange range = row.RangeOf(i);
    GRAPHTREE_RETURN_IF_ERROR(row.Release(i));
    LogEvent(HistoryAction::kUnmap, range.base, range.bytes, nullptr);
  }
  return row.ShrinkTo(first_to_go);
}

}  // namespace graphtree
