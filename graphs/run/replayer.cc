// Launches a recording, and hands out its outputs.
#include "graphs/run/replayer.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/memory/undo.h"
#include "graphs/run/cut_replay.h"
#include "graphs/run/located.h"

namespace graphtree {
namespace {

// Takes inputs that died inside the node from the call: the node was launched, so other bytes may
// lie there by now.
void LoseConsumed(const Node& node, const Call& call) {
  for (const Consumed& consumed : node.consumed) {
    if (!consumed.moves) call.inputs[consumed.input] = Value::Consumed();
  }
}

// What the recording is known to write of its caller's. A call goes on where there is no memory to
// save to, as an eager run does.
void SaveWrites(const Node& node, const Call& call, Undo* undo) {
  for (const uint32_t input : node.written) {
    const AddressRange range = RangeOf(call.inputs[input]);
    if (!range.empty()) undo->TrySaveOn(call.stream, range);
  }
  for (const AddressRange range : node.written_beside.ranges()) {
    undo->TrySaveOn(call.stream, range);
  }
}

// What a part has done that the sections after it do not know.
Replayer::NotReplayed SpoiltByPart(Reason why) {
  if (why == Reason::kWorkspaceMoved) {
    return {why, "a part moved it in a replay, whose next ops point to where it was before"};
  }
  return {why, why == Reason::kMutatedInput
                   ? "a part wrote to it for the first time, and its break does not say so"
                   : "a part writes where an input lies, and its break does not say so"};
}

}  // namespace

absl::Status Replayer::CheckWhatIsHeld(const Node& node, const Call& call) const {
  for (const Value& held : node.held) {
    const absl::Status may = MayBeUsed(*held.storage(), RangeOf(held).bytes);
    if (!may.ok()) {
      return Located(may, absl::StrCat("'", call.function.name, "' uses ", Description(held),
                                       " without being given it"));
    }
  }
  return node.keeps_inputs ? KeptOutputs::CheckInputs(node, call.inputs) : absl::OkStatus();
}

absl::Status Replayer::ReplayHolding(Node* node, Call& call) {
  needs_.ground.memory->KeepAwake(node->held);
  GRAPHTREE_RETURN_IF_ERROR(CheckWhatIsHeld(*node, call));
  needs_.ground.memory->TellOwners(node->held, call.stream);
  absl::Status status = ReplayChosen(node, call);
  // Parts may have called these owners: then they went on after the first sections, and forgot the
  // stream.
  needs_.ground.memory->TellOwners(node->held, call.stream);
  return status;
}

absl::Status Replayer::ReplayChosen(Node* node, Call& call) {
  const bool checked = needs_.checks.Applies(call.function);
  if (checked) GRAPHTREE_RETURN_IF_ERROR(CheckFirst(*node, call));
  needs_.books.BackToViews();
  if (IsEvicted(*node)) GRAPHTREE_RETURN_IF_ERROR(BringBack(node));
  GRAPHTREE_RETURN_IF_ERROR(ContinueOn(call.stream));
  // Kept outputs and parts take memory before the launch tells the pool.
  if (!node->kept.empty() || !node->cuts.empty()) needs_.ground.NoteGoesOn(call.stream);
  if (!node->kept.empty()) GRAPHTREE_RETURN_IF_ERROR(PlaceKept(node, call));
  if (!node->cuts.empty()) return ReplayCut(node, call);
  if (checked) return ReplayChecked(node, call);
  outputs_.TellDevice(*node);
  absl::Status launched = Launch(node, call);
  if (launched.ok()) GoOn(node, call);
  return launched;
}

absl::Status Replayer::CheckFirst(const Node& node, Call& call) {
  needs_.checks.NoteCaller(&call);
  GRAPHTREE_RETURN_IF_ERROR(needs_.checks.InputsAreLive(call));
  return needs_.checks.OutsideIsLive(node, call);
}

absl::Status Replayer::MatchAgain(const Node& node, Call& call) {
  if (needs_.matcher.StillMatches(node, call)) return absl::OkStatus();
  const Reason why = needs_.matcher.WhyNot(node, call);
  not_replayed_ = {why, why == Reason::kWorkspaceMoved
                            ? "a run of its body beside the replay moved it"
                            : "so it is since a run of its body beside the replay"};
  return absl::AbortedError(not_replayed_->detail);
}

absl::Status Replayer::BringBack(Node* node) {
  absl::Status back = needs_.executables.BringBack(node);
  if (!back.ok()) not_replayed_ = {Reason::kOverBudget, std::string(back.message())};
  return back;
}

absl::Status Replayer::PlaceKept(Node* node, Call& call) {
  absl::Status placed = needs_.kept.Place(node, call.stream);
  if (absl::IsResourceExhausted(placed) && needs_.kept.IsWithinLimit(*node)) {
    not_replayed_ = {Reason::kOutOfPool, std::string(placed.message())};
  }
  return placed;
}

absl::Status Replayer::ReplayChecked(Node* node, Call& call) {
  const std::optional<BodyDigest> body = needs_.replay_check.Digest(*node, call);
  GRAPHTREE_RETURN_IF_ERROR(MatchAgain(*node, call));
  Undo undo(needs_.ground.memory.get(), call.stream, needs_.ground.TagOf(call.function));
  SaveWrites(*node, call, &undo);
  outputs_.TellDevice(*node);
  GRAPHTREE_RETURN_IF_ERROR(Launch(node, call));
  if (node->section.executable != nullptr) {
    const absl::Status done = needs_.checks.Await(call, node->sites, call.stream);
    if (!done.ok()) {
      SectionLauncher::GiveBackDraws(node);
      LoseConsumed(*node, call);
      return AfterUndo(done, undo.Restore());
    }
  }
  GoOn(node, call);
  return body.has_value() ? needs_.replay_check.Compare(*body, call) : absl::OkStatus();
}

// False if the call has to run eagerly.
absl::StatusOr<bool> Replayer::LaunchCut(Node* node, Call& call, CutReplay* replay) {
  const Entrance::Running running(needs_.entrance, call.function);
  const MemoryGiver::Taking taking(*needs_.ground.giver, {&call.function, node});
  const absl::StatusOr<bool> launched = replay->Launch();
  needs_.journal.stats().eager_parts += replay->parts_run();
  BodyRequests asked = replay->TakeRequests();
  needs_.journal.CountPads(asked.pads);
  needs_.keeper.graveyard().Add(std::move(asked.keep_alive));
  return launched;
}

absl::Status Replayer::ReplayCut(Node* node, Call& call) {
  outputs_.TellDevice(*node);
  CutReplay replay(needs_.ground, needs_.journal, needs_.launcher, node, call);
  const absl::StatusOr<bool> launched = LaunchCut(node, call, &replay);
  if (launched.ok() && !*launched) {
    NotReplayed why = SpoiltByPart(replay.WhySpoilt());
    const absl::Status aborted = absl::AbortedError(why.detail);
    const absl::Status undone = replay.UndoEffects();
    if (!undone.ok()) return AfterUndo(aborted, undone);
    not_replayed_ = std::move(why);
    return aborted;
  }
  absl::Status status = launched.status();
  if (!status.ok()) {
    status = needs_.checks.WithStacks(Located(status, absl::StrCat("'", call.function.name, "'")),
                                      call, node->sites);
  } else {
    status = needs_.checks.Await(call, node->sites, call.stream);
  }
  if (!status.ok()) return AfterUndo(status, replay.UndoEffects());
  // The device is told again: it may have been told of parts' tensors at the outputs' addresses.
  outputs_.TellDevice(*node);
  GoOn(node, call);
  return absl::OkStatus();
}

void Replayer::GoOn(Node* node, Call& call) {
  TreeStats& stats = needs_.journal.stats();
  node->parent->last_child = node;
  needs_.books.path().Append(node, PathState::kReplaying);
  needs_.checks.NoteRun(call, node->used);
  ++node->replays;
  node->last_call = stats.calls;
  ++stats.replays;
  needs_.journal.NoteReplayed();
  outputs_.HandOut(node, call);
}

}  // namespace graphtree
