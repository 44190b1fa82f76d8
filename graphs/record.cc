// The body is captured into a graph, the graph becomes a node, and is launched once.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "allocator/deferred.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "graphs/given_inputs.h"
#include "graphs/planted_bug.h"
#include "graphs/recorder.h"
#include "graphs/tree_core.h"

namespace graphtree {
Reason TreeCore::ReasonOf(const absl::Status& status) {
  switch (ErrorCodeOf(status)) {
    case ErrorCode::kCaptureUnsupported:
    case ErrorCode::kCapturedEvent: return Reason::kForbiddenCall;
    case ErrorCode::kCaptureImplicit:
    case ErrorCode::kCaptureInvalidated: return Reason::kCaptureBroken;
    case ErrorCode::kCaptureUnjoined: return Reason::kUnjoinedFork;
    case ErrorCode::kOutOfMemory: return Reason::kOutOfPool;
    default: return Reason::kRecordFailed;
  }
}

// Undoes and redoes the pool's books until they show what they showed when `node` had been
// recorded, less the outputs that have died since; those that live own their blocks again.
absl::Status TreeCore::BooksTo(Node* node) {
  if (path_.state() == PathState::kRecording || path_.state() == PathState::kWarmUp) {
    path_.Held();  // frees what has died
    return absl::OkStatus();
  }
  if (books_at_ == node && node->live_after.empty()) return absl::OkStatus();
  // Looked at once: what other threads drop from here on counts as alive.
  const std::vector<HeldOutput>& all_held = path_.Held();
  std::vector<BlockId> dying;
  std::vector<std::pair<const HeldOutput*, BlockId>> surviving;
  for (const LiveBlock& live : node->live_after) {
    const HeldOutput* holder = nullptr;
    for (const HeldOutput& held : all_held) {
      if (held.output == live.output) holder = &held;
    }
    if (holder == nullptr && IsPlanted(PlantedBug::kForgetsDying)) continue;
    if (holder == nullptr) {
      dying.push_back(live.block);
    } else {
      surviving.push_back({holder, live.block});
    }
  }
  GRAPHTREE_RETURN_IF_ERROR(memory_->Restore(node->checkpoint, dying));
  if (node != &root_) ++stats_.restores;
  for (const auto& [held, block] : surviving) {
    held->storage->block = Pack(block);
    held->storage->set_state(StorageState::kOwning);
    if (held->slot != nullptr && held->slot->storage == held->storage) {
      held->slot->storage = nullptr;
      held->storage->DropInside();
    }
  }
  owns_in_replay_ = !surviving.empty();
  books_at_ = nullptr;
  return absl::OkStatus();
}

// The call that went there was given up or failed, and the path goes on replaying: what it holds is
// views once more, whose places other replays may be writing when they are dropped.
void TreeCore::BackToViews() {
  for (const HeldOutput& held : path_.Held()) {
    Storage& storage = *held.storage;
    const bool owns = storage.state() == StorageState::kOwning;
    if (owns && memory_->InStepRegion(storage.range())) storage.set_state(StorageState::kView);
  }
  owns_in_replay_ = false;
}

absl::Status TreeCore::Record(Call& call) {
  if (absl::Status room = keeper_.RoomForNode(*call.variant); !room.ok()) {
    NoteFailure(call.variant, room.message());
    return RunEagerly(call, Reason::kOverBudget, std::string(room.message()));
  }
  GRAPHTREE_RETURN_IF_ERROR(BooksTo(path_.current()));
  GRAPHTREE_ASSIGN_OR_RETURN(const CheckpointId before, memory_->Take());
  absl::StatusOr<std::unique_ptr<Rehearsal>> rehearsal = RehearsalFor(call);
  if (rehearsal.ok()) {
    absl::Status status;
    // A loop: a library may put an address of the stack into what it launches, and the two
    // recordings are to show the same one.
    for (bool again = true; again;) {
      again = false;
      status = RecordFrom(before, call, rehearsal->get(), &again);
    }
    memory_->Drop(before);
    return status;
  }
  memory_->Drop(before);
  NoteFailure(call.variant, rehearsal.status().message());
  return RunEagerly(call, Reason::kRecordFailed, std::string(rehearsal.status().message()));
}

// `again` is set where this was the rehearsal, and the call has everything back.
absl::Status TreeCore::RecordFrom(CheckpointId before, Call& call, Rehearsal* rehearsal,
                                  bool* again) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<CaptureScope> scope,
                             memory_->pool().scopes().Begin());
  foreign_->BeginRecording();
  books_at_ = nullptr;
  StepMemory::Recording recording(*memory_);
  // The call's own references move here, and on to the body where they may die.
  Values originals(call.inputs.begin(), call.inputs.end());
  InputPlan plan = PlanInputs(call);
  const bool was_rehearsed = rehearsal != nullptr && rehearsal->done();
  Consume(call);
  GivenInputs given(memory_.get(), &path_, true);
  Values to_body = given.Take(plan.roles, &originals);
  Recorder recorder(*this, call, originals, given, *scope, rehearsal);
  recorder.Run(std::move(plan), std::move(to_body));
  Draft& draft = recorder.draft();
  {
    // What waits for captures to end waits for this launch, too, and for what follows where it
    // fails: it may be to park the memory.
    const DeferredQueue::Holding holding(memory_->pool().deferred());
    const bool is_recorded = draft.status.ok();
    if (is_recorded) draft.status = CheckOutsideLive(*draft.node, call);
    if (draft.status.ok()) draft.status = LaunchFirst(scope.get(), originals, call, &recorder);
    if (draft.status.ok()) {
      // Only now, behind the launch that reads them, may what the function consumed be gone.
      NoteConsumed(originals, given, draft.node.get());
      NoteLasting(draft.node.get());
      given.LayToRest();
      ForgetPlaces(draft.node.get());
      originals.clear();
      recording.End();
      recorder.ReleaseOwn();
      return Attach(call, std::move(draft), recorder.allocator());
    }
    draft.is_final |= is_recorded;
    GRAPHTREE_RETURN_IF_ERROR(
        TakeBack(before, scope.get(), &recording, &recorder, &given, &originals, call));
  }
  if (draft.is_final) return draft.status;
  *again = rehearsal != nullptr && !was_rehearsed && rehearsal->done();
  return *again ? absl::OkStatus() : GiveUp(call, draft);
}

absl::Status TreeCore::TakeBack(CheckpointId before, CaptureScope* scope,
                                StepMemory::Recording* recording, Recorder* recorder,
                                GivenInputs* given, Values* originals, Call& call) {
  Draft& draft = recorder->draft();
  draft.outputs.clear();
  const absl::Status taken_back = recorder->TakeBack();
  const absl::Status rolled_back = RollBack(before, scope, draft.was_committed);
  recording->End();
  TakeBackMade(call, recorder->allocator(), draft.marked, false);
  const absl::Status retaken = rolled_back.ok() ? foreign_->RolledBack() : foreign_->GivenUp();
  if (draft.was_launched) {
    given->LoseDead(originals);
  } else {
    given->Exhume(originals);
  }
  const bool gives_back = rolled_back.ok() || !IsPlanted(PlantedBug::kLosesInputs);
  for (size_t i = 0; gives_back && i < originals->size(); ++i) {
    call.inputs[i] = std::move((*originals)[i]);
  }
  if (!rolled_back.ok()) {
    return Lose(call.function, "its recording could not be rolled back", rolled_back);
  }
  GRAPHTREE_RETURN_IF_ERROR(taken_back);
  return retaken;
}

// The books are as they were at `before`. A failure may be one moment's: another thread looks at
// the pool, where it should not.
absl::Status TreeCore::RollBack(CheckpointId before, CaptureScope* scope, bool was_committed) {
  constexpr int kAttempts = 3;
  absl::Status first;
  for (int i = 0; i < kAttempts; ++i) {
    absl::Status status = scope->RollBack();
    // Also where a scope has ended and was not rolled back to its beginning.
    if (was_committed || !status.ok() || !first.ok()) status = memory_->Restore(before, {});
    if (status.ok()) return status;
    first.Update(status);
  }
  return first;
}

// The call has everything that it came with, and runs in another way.
absl::Status TreeCore::GiveUp(Call& call, const Draft& draft) {
  if (!draft.hidden.empty() || !draft.written.empty()) return RecordAgain(draft, call);
  if (draft.reason == Reason::kWarmUpAsked) return WarmUp(call);
  NoteFailure(call.variant, draft.status.message());
  return RunEagerly(call, draft.reason, std::string(draft.status.message()));
}

// What was to be patched, and is not all known, is copied; what was copied, and is written to, is
// taken as what it is.
absl::Status TreeCore::RecordAgain(const Draft& draft, Call& call) {
  for (uint32_t input : draft.written) call.variant->mutates[input] = true;
  if (!draft.hidden.empty()) {
    call.variant->doubts_hidden_at = call.variant->calls + options_.budget.retry_after;
  }
  for (uint32_t input : draft.hidden) {
    if (input >= kFirstKept) {
      call.variant->keeps_by_copy = true;
    } else {
      call.variant->uses[input].hidden = true;
    }
  }
  Reason reason;
  return MustRunEagerly(call, &reason) ? RunEagerly(call, reason) : Record(call);
}

void TreeCore::HoldForeign(Node* node) {
  std::vector<const Graph*> graphs;
  node->VisitSections([&graphs](const Section& section) {
    if (section.graph != nullptr) graphs.push_back(section.graph.get());
  });
  std::shared_ptr<void> held = foreign_->Commit(graphs);
  if (held == nullptr || IsPlanted(PlantedBug::kForgetsForeign)) return;
  node->keep_alive.push_back(std::move(held));
}

absl::Status TreeCore::LaunchFirst(CaptureScope* scope, const Values& originals,
                                   const Call& call, Recorder* recorder) {
  Draft* draft = &recorder->draft();
  Stream& stream = call.stream;
  GRAPHTREE_RETURN_IF_ERROR(order_.ContinueOn(stream));
  draft->was_committed = true;
  const StreamLives before = scope->Commit();
  Node* node = draft->node.get();
  HoldForeign(node);
  for (const std::shared_ptr<StreamLife>& earlier : before) {
    GRAPHTREE_RETURN_IF_ERROR(order_.WaitFor(*earlier, stream));
  }
  if (!node->cuts.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(recorder->LaunchLast());
    GRAPHTREE_RETURN_IF_ERROR(AwaitChecked(call, node->sites, stream));
  } else if (node->section.executable != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(LaunchNode(node, originals, stream));
    draft->was_launched = true;
    GRAPHTREE_RETURN_IF_ERROR(AwaitLaunched(node, call));
  } else {
    GRAPHTREE_RETURN_IF_ERROR(PlaceKept(node, stream));
  }
  for (size_t i = 0; i < draft->outputs.size(); ++i) {
    const OutputSlot& slot = node->outputs[i];
    if (slot.kind == OutputKind::kKept) draft->outputs[i] = ViewOfKept(*node, slot);
    // The body was given a managed input itself, and the others something in their place.
    const bool stands_in =
        slot.kind == OutputKind::kInput && node->roles[slot.source] != InputRole::kManaged;
    if (stands_in) draft->outputs[i] = ViewOfInput(originals[slot.source], slot);
  }
  return absl::OkStatus();
}

// A graph of nothing needs no executable: a hit then makes no device call.
bool TreeCore::FinishGraph(Draft* draft) {
  Node* node = draft->node.get();
  Section* last = &node->last();
  if (last->graph->op_count() == 0) {
    last->graph = nullptr;
    return true;
  }
  draft->status = MakeExecutable(*node, node->cuts.size(), last);
  if (draft->status.ok()) return true;
  draft->reason = ReasonOf(draft->status);
  if (draft->reason == Reason::kRecordFailed && absl::IsResourceExhausted(draft->status)) {
    draft->reason = Reason::kOverBudget;
  }
  return false;
}

// Where a replay will take each output from; see OutputKind.
bool TreeCore::Classify(const Values& originals, const StepAllocator& allocator, Draft* draft) {
  if (allocator.spilled()) {
    draft->FailForMemory();
    return false;
  }
  Node* node = draft->node.get();
  for (uint32_t i = 0; i < draft->outputs.size(); ++i) {
    const Value& output = draft->outputs[i];
    OutputSlot& slot = node->outputs.emplace_back();
    Storage* storage = output.storage();
    if (storage == nullptr || (output.is_opaque() && HandlesIn(originals, storage) == 0)) {
      slot.constant = output;
      continue;
    }
    slot.layout = output.layout();
    slot.address = output.word();
    slot.block_range = storage->range();
    if (!FindSource(originals, *draft, i, &slot)) {
      draft->status = absl::InvalidArgumentError(
          absl::StrCat("output ", i, " of '", node->variant->function->name,
                       "' is no output of this tree's path"));
      return false;
    }
    if (slot.kind == OutputKind::kOwn) MarkKept(*node, *storage, &slot);
  }
  return true;
}

Value TreeCore::ViewOfInput(const Value& input, const OutputSlot& slot) {
  return Tensor::Over(input.storage(), slot.layout, input.word() + slot.address);
}

bool TreeCore::FindSource(const Values& originals, const Draft& draft, uint32_t output,
                          OutputSlot* slot) {
  const Storage* storage = draft.outputs[output].storage();
  for (uint32_t input = 0; input < originals.size(); ++input) {
    const bool is_given =
        draft.stand_ins[input] != 0 && draft.stand_ins[input] == storage->serial;
    const InputRole role = draft.node->roles[input];
    // Where something stands for the input the body has the input itself from elsewhere, and would
    // return it whatever a call brings.
    const bool has_stand_in = role == InputRole::kCopied || role == InputRole::kPatched;
    if (!is_given && (has_stand_in || originals[input].storage() != storage)) continue;
    const bool is_itself = !is_given || role == InputRole::kManaged;
    const Address base = is_itself ? originals[input].word() : storage->range().base;
    slot->kind = OutputKind::kInput;
    slot->source = input;
    slot->address = draft.outputs[output].word() - base;
    return true;
  }
  for (uint32_t earlier = 0; earlier < output; ++earlier) {
    if (draft.outputs[earlier].storage() == storage &&
        draft.node->outputs[earlier].kind == OutputKind::kOwn) {
      slot->kind = OutputKind::kSameAsOwn;
      slot->source = earlier;
      return true;
    }
  }
  for (const HeldOutput& held : path_.Held()) {
    if (held.storage != storage) continue;
    slot->kind = OutputKind::kAncestor;
    slot->source = held.output.output;
    slot->ancestor = path_.current();
    while (slot->ancestor->level != held.output.level) slot->ancestor = slot->ancestor->parent;
    // What its body has stored without returning it is not made by a replay.
    return slot->source < slot->ancestor->outputs.size();
  }
  slot->kind = OutputKind::kOwn;
  return storage->state() == StorageState::kOwning && memory_->InStepRegion(storage->range());
}

void TreeCore::NoteConsumed(const Values& originals, const GivenInputs& given, Node* node) {
  if (IsPlanted(PlantedBug::kForgetsConsumed)) return;
  for (const GivenInputs::Buried& buried : given.buried()) {
    node->consumed.push_back({buried.held.output, buried.input});
  }
  for (const HeldOutput& held : path_.Held()) {
    if (held.storage->outside() > HandlesIn(originals, held.storage)) continue;
    for (uint32_t input = 0; input < originals.size(); ++input) {
      if (originals[input].storage() != held.storage) continue;
      node->consumed.push_back({held.output, input, true});
      break;
    }
  }
}

// What somebody dropped in the middle, the body or another thread, is not in the books behind the
// recording: where it is alive at a replay, its memory would be given away. So it must be dead.
void TreeCore::NoteDeadMeanwhile(absl::Span<const HeldOutput> held, Node* node) {
  if (IsPlanted(PlantedBug::kForgetsConsumed)) return;
  std::vector<OutputRef> live;
  for (const OutputRef output : node->live_before.outputs()) {
    const auto is_it = [output](const auto& other) { return other.output == output; };
    if (absl::c_any_of(held, is_it) || absl::c_any_of(node->consumed, is_it)) {
      live.push_back(output);
    }
  }
  if (live.size() < node->live_before.outputs().size()) node->live_before = LiveSet(live);
}

absl::Status TreeCore::Attach(Call& call, Draft draft, const StepAllocator& allocator) {
  Node* node = draft.node.get();
  HoldOutputs(call, node, draft.outputs, allocator);
  const std::vector<HeldOutput>& all_held = path_.Held();
  for (const HeldOutput& held : all_held) {
    node->live_after.push_back({held.output, Unpack(held.storage->block)});
  }
  NoteDeadMeanwhile(all_held, node);
  absl::StatusOr<CheckpointId> checkpoint = memory_->Take();
  *call.outputs = std::move(draft.outputs);
  if (!checkpoint.ok()) {
    // The call has run and has its outputs, but what comes next has no state to begin from.
    Lose(call.function, "no checkpoint could be taken after it", checkpoint.status()).IgnoreError();
    keeper_.graveyard().Add(std::move(draft.node));
    return absl::OkStatus();
  }
  node->checkpoint = *checkpoint;
  ++tally_.On(EdgeTo(*node->variant->function)).recordings;
  Node* parent = path_.current();
  FileNode(draft.plan, node);
  parent->by_variant[node->variant->id].push_back(node);
  parent->children.push_back(std::move(draft.node));
  parent->last_child = node;
  path_.Append(node, PathState::kRecording);
  node->variant->SettleWarmUps();
  ++stats_.recordings;
  node->last_call = stats_.calls;
  node->variant->failures = 0;
  node->variant->was_recorded = true;
  keeper_.NodeMade();
  keeper_.ExecutablesMade(*node);
  if (!node->cuts.empty()) NoteBreaks(*node);
  stats_.sections += node->cuts.size() + 1;
  for (const IngestOp& ingest : node->section.ingest) stats_.copied_inputs += ingest.inputs.size();
  stats_.patched_inputs += node->section.pointers.inputs();
  NoteRun(call, node->used);
  return absl::OkStatus();
}

}  // namespace graphtree
