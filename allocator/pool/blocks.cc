// Looking blocks up, freeing them, and saying why a free was refused.
#include "allocator/pool/blocks.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {

Blocks::Blocks(const Arena& arena, Door& door, Ledger& ledger, PoolStreams& streams,
               Journal& journal, Tally& tally, Watchers& watchers)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      streams_(streams),
      journal_(journal),
      tally_(tally),
      watchers_(watchers) {}

absl::StatusOr<Block> Blocks::Find(Address address) const {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  if (arena_.reserved().Contains(address)) {
    const uint32_t quantum = static_cast<uint32_t>((address - arena_.base()) / kQuantum);
    const BlockId id = ledger_.Find(quantum);
    // A guard belongs to nobody.
    if (id.index != kNoId && ledger_.record(id.index).IsInside(quantum)) return BlockOf(id);
  }
  return absl::NotFoundError(absl::StrCat("no live block of pool \"", arena_.name(),
                                          "\" covers address ", address));
}

absl::StatusOr<Block> Blocks::Describe(BlockId id) const {
  const Door::Entry entry(door_.guard());
  if (!entry.ok()) return Door::Entry::TwoThreads();
  const HandleState outcome = ledger_.Check(id);
  if (outcome != HandleState::kLive) return WhyNotFreed(id, outcome);
  return BlockOf(id);
}

absl::Status Blocks::UseOn(BlockId id, Stream& stream) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  const HandleState outcome = ledger_.Check(id);
  if (outcome != HandleState::kLive) return WhyNotFreed(id, outcome);
  GRAPHTREE_RETURN_IF_ERROR(streams_.Check(stream));
  ledger_.mutable_record(id.index).streams |= 1u << streams_.table().NumberOf(stream);
  return absl::OkStatus();
}

absl::Status Blocks::Annotate(BlockId id, absl::string_view note) {
  const Door::Entry entry(door_.guard());
  GRAPHTREE_RETURN_IF_ERROR(door_.Enter(entry));
  const HandleState outcome = ledger_.Check(id);
  if (outcome != HandleState::kLive) return WhyNotFreed(id, outcome);
  BlockRecord& record = ledger_.mutable_record(id.index);
  record.note = journal_.Word(note);
  journal_.Log(HistoryAction::kNote, record);
  return absl::OkStatus();
}

absl::Status Blocks::Free(BlockId id) {
  if (door_.IsAskedFor(id)) {
    return absl::FailedPreconditionError(
        absl::StrCat("block ", id.index, " is the one that the server is asked for memory for"));
  }
  const HandleState outcome = ledger_.Check(id);
  if (outcome != HandleState::kLive) return WhyNotFreed(id, outcome);
  FreeLive(id, ledger_, streams_, tally_, watchers_);
  return absl::OkStatus();
}

absl::Status Blocks::WhyNotFreed(BlockId id, HandleState outcome) const {
  const std::string who = watchers_.WhoFreed(id);
  const std::string by = who.empty() ? "" : absl::StrCat(" It was freed ", who, ".");
  switch (outcome) {
    case HandleState::kUnknown:
      return absl::InvalidArgumentError(absl::StrCat("block ", id.index, " is not one of pool \"",
                                                     arena_.name(), "\""));
    case HandleState::kStale:
      return absl::FailedPreconditionError(
          absl::StrCat("block ", id.index, " of generation ", id.generation,
                       " was freed before, or is of another pool; in pool \"", arena_.name(),
                       "\" its record is of generation ", ledger_.IdOf(id.index).generation, ".",
                       by));
    default:
      return absl::FailedPreconditionError(absl::StrCat(
          "block ", id.index, " is freed already; a checkpoint remembers it.", by));
  }
}

absl::Status Blocks::FreeQueued() {
  QueuedFrees& frees = door_.waiting().frees();
  if (!frees.any()) return absl::OkStatus();
  const QueuedFrees::Taken queued = frees.Take();
  streams_.NoteUsers(queued.users);
  for (BlockId id : queued.blocks) {
    const absl::Status status = Free(id);
    if (status.ok()) {
      if (freed_elsewhere_ != nullptr) freed_elsewhere_->push_back(id);
      continue;
    }
    ++tally_.counts().refused_queued_frees;
    first_refused_free_.Update(status);
  }
  return absl::OkStatus();
}

void Blocks::FreeAgain(const std::vector<BlockId>& freed_elsewhere) {
  for (BlockId id : freed_elsewhere) {
    if (ledger_.Check(id) != HandleState::kLive) continue;
    const BlockRecord& record = ledger_.record(id.index);
    // The watchers heard that the restore brought the block back, so they must hear of its death.
    watchers_.TellOfFreeAgain(record);
    tally_.CountGone(record);
    ledger_.FreeLive(id, streams_.table().now());
    if (freed_elsewhere_ != nullptr) freed_elsewhere_->push_back(id);
  }
}

}  // namespace graphtree
