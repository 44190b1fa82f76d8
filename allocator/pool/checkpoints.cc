// Taking checkpoints and going back to them.
#include "allocator/pool/checkpoints.h"

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

bool Overlaps(const Piece& piece, uint64_t begin, uint64_t end) {
  return piece.offset < end && begin < piece.offset + piece.bytes;
}

}  // namespace

Checkpoints::Checkpoints(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams,
                         const Growth& growth, Journal& journal, Tally& tally, Watchers& watchers)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      growth_(growth),
      journal_(journal),
      tally_(tally),
      watchers_(watchers) {}

absl::StatusOr<CheckpointTree::NodeId> Checkpoints::NodeOf(CheckpointId id) const {
  if (id.pool != arena_.serial()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the checkpoint was taken of another pool than \"", arena_.name(), "\""));
  }
  const CheckpointTree::NodeId node = ledger_.FindCheckpoint(id.index, id.generation);
  if (node == kNoId) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint ", id.index, " of pool \"", arena_.name(), "\" was dropped"));
  }
  return node;
}

absl::StatusOr<CheckpointId> Checkpoints::Take() {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_asking()) return door_.NotWhileAsking("take a checkpoint of");
  const CheckpointTree::NodeId node = ledger_.Take(growth_.clock());
  return CheckpointId{node, ledger_.checkpoints().node(node).generation, arena_.serial()};
}

absl::Status Checkpoints::Drop(CheckpointId checkpoint) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId node, NodeOf(checkpoint));
  ledger_.Drop(node);
  return absl::OkStatus();
}

absl::StatusOr<bool> Checkpoints::IsAt(CheckpointId checkpoint) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId node, NodeOf(checkpoint));
  ledger_.Plan(node, {}, {}, &plan_);
  // A guest is live now, and would survive a restore, but the checkpoint does not know it.
  return plan_.dies.empty() && plan_.wakes.empty() && plan_.guests.empty();
}

absl::StatusOr<bool> Checkpoints::HasItsMemory(CheckpointId checkpoint) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId id, NodeOf(checkpoint));
  const CheckpointTree::Node& node = ledger_.checkpoints().node(id);
  const PieceRow& row = growth_.row(Region::kStep);
  for (uint32_t sector : node.footprint) {
    for (uint32_t i = 0; i < row.count(); ++i) {
      const Piece& piece = row.piece(i);
      if (!Overlaps(piece, arena_.SectorBegin(sector), arena_.SectorBegin(sector + 1))) continue;
      if (piece.wake || piece.contents_lost > node.time) return false;
    }
  }
  return true;
}

absl::Status Checkpoints::WhyNotRestored() const {
  if (plan_.outcome == RestoreOutcome::kNotLiveThere) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", plan_.culprit.index, " of generation ", plan_.culprit.generation,
        " was named as surviving or dying, but is live neither now nor at the checkpoint (or was "
        "named as both, or lies in the lasting region). Nothing was restored."));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      journal_.NameOf(ledger_.record(plan_.culprit.index)), " of the checkpoint lies where ",
      journal_.NameOf(ledger_.record(plan_.other.index)),
      " is to survive. Free that one, or name it as dying. Nothing was restored."));
}

// A block that comes back must still have its bytes.
absl::Status Checkpoints::CheckContents() const {
  const uint64_t taken = ledger_.checkpoints().node(plan_.target).time;
  const PieceRow& row = growth_.row(Region::kStep);
  for (uint32_t index : plan_.wakes) {
    const BlockRecord& record = ledger_.record(index);
    const RegionExtent extent = arena_.ExtentOf(record);
    for (uint32_t i = 0; i < row.count(); ++i) {
      const Piece& piece = row.piece(i);
      if (!Overlaps(piece, extent.begin, extent.end) || piece.contents_lost <= taken) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("the checkpoint is older than a trim that broke it: the memory of ",
                       journal_.NameOf(record), " was given back since. Record again."));
    }
  }
  return absl::OkStatus();
}

absl::Status Checkpoints::Restore(CheckpointId checkpoint, const RestoreOptions& options) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  if (door_.is_asking()) return door_.NotWhileAsking("restore");
  if (streams_.table().is_in_scope()) return HeldByCapture();
  if (door_.is_parked()) return door_.UsedWhileParked("restoring");
  GRAPHTREE_RETURN_IF_ERROR(PlanTo(checkpoint, options));
  // A capture that uses other blocks of the pool is no obstacle: the body of one tree may free a
  // block of another, whose calls go on meanwhile.
  if (streams_.table().streams().IsUsedByCapture(UsersOfPlan())) return HeldByCapture();
  return ApplyPlan();
}

absl::Status Checkpoints::RestoreNow(CheckpointId checkpoint, const RestoreOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(PlanTo(checkpoint, options));
  return ApplyPlan();
}

absl::Status Checkpoints::HeldByCapture() const {
  return absl::FailedPreconditionError(absl::StrCat(
      "pool \"", arena_.name(), "\" cannot be restored while a capture uses its memory. End the "
      "capture first."));
}

absl::Status Checkpoints::PlanTo(CheckpointId checkpoint, const RestoreOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointTree::NodeId node, NodeOf(checkpoint));
  ledger_.Plan(node, options.surviving, options.dying, &plan_);
  if (plan_.outcome != RestoreOutcome::kReady) return WhyNotRestored();
  // No piece was lost since: the usual case, and one compare.
  if (ledger_.checkpoints().node(node).time != growth_.clock()) return CheckContents();
  return absl::OkStatus();
}

absl::Status Checkpoints::ApplyPlan() {
  // A plan that overlaps frees again what it has brought back.
  streams_.table().NoteFreedByBooks(UsersOfPlan());
  if (ledger_.Apply(&plan_, streams_.table().now()) != RestoreOutcome::kReady) {
    return WhyNotRestored();
  }
  CountPlan();
  tally_.RaisePeaks();  // with survivors more may be live than ever was
  watchers_.TellOfRestore(plan_.dies, plan_.wakes);
  ++tally_.counts().restores;
  journal_.LogRange(HistoryAction::kCheckpointRestore, {0, tally_.counts().live_bytes});
  return absl::OkStatus();
}

// The streams that used the blocks which the plan frees or brings back.
uint32_t Checkpoints::UsersOfPlan() const {
  uint32_t streams = 0;
  for (const uint32_t index : plan_.dies) streams |= ledger_.record(index).streams;
  for (const uint32_t index : plan_.wakes) streams |= ledger_.record(index).streams;
  return streams;
}

void Checkpoints::UndoWatched(uint32_t mark) {
  streams_.table().NoteFreedByBooks(~0u);
  ledger_.UndoWatch(mark, streams_.table().now(), &plan_.dies, &plan_.wakes);
  CountPlan();
  watchers_.TellOfRestore(plan_.dies, plan_.wakes);
}

// Peaks and totals of calls stay as they are.
void Checkpoints::CountPlan() {
  for (uint32_t index : plan_.dies) tally_.CountGone(ledger_.record(index));
  for (uint32_t index : plan_.wakes) tally_.CountBack(ledger_.record(index));
}

}  // namespace graphtree
