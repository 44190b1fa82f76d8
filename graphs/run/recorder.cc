// Captures the body into a graph, launches the graph once, and makes it a node.
#include "graphs/run/recorder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "allocator/order/deferred.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "graphs/run/located.h"
#include "graphs/run/planted_bug.h"
#include "graphs/run/recorded_inputs.h"
#include "graphs/run/recorded_outputs.h"

namespace graphtree {
namespace {

using Next = RecordOutcome::Next;

// `reason` and `why` are for a call that goes on no further.
RecordOutcome To(Next next, Reason reason = Reason::kRecordFailed, absl::string_view why = "") {
  return {next, absl::OkStatus(), reason, std::string(why)};
}

RecordOutcome Done(absl::Status status) {
  RecordOutcome outcome;
  outcome.status = std::move(status);
  return outcome;
}

RecordOutcome Eagerly(Reason reason, absl::string_view why) {
  return To(Next::kEagerly, reason, why);
}

void NoteLasting(Node* node) {
  for (uint32_t i = 0; i < node->roles.size(); ++i) {
    const InputRole role = node->roles[i];
    bool lasts = role == InputRole::kPatched;
    for (const OutputSlot& slot : node->outputs) {
      lasts |= slot.kind == OutputKind::kInput && slot.source == i && !IsPinned(role);
    }
    if (lasts) node->lasting.push_back(i);
  }
}

// An output that the body or another thread dropped while the recording was made is not live in the
// books after it. If it were alive at a replay, later recordings would lay memory over it: so it
// must be dead then.
void NoteDeadMeanwhile(absl::Span<const HeldOutput> held, Node* node) {
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

// Files a recording where calls that it matches will look.
void FileNode(const InputPlan& plan, Node* node, Node* parent) {
  if (std::find(plan.unpinned.begin(), plan.unpinned.end(), true) == plan.unpinned.end()) {
    parent->by_call[node->call_hash].Add(node, node->live_before.hash());
  } else {
    node->is_general = true;
    parent->general.Add(node->variant->function->id, node,
                        {&node->inputs, node->live_before.hash()}, plan.unpinned);
  }
}

// Null if no input is sought.
absl::StatusOr<std::unique_ptr<Rehearsal>> RehearsalFor(Memory& memory, const Call& call,
                                                        const InputPlan& plan) {
  if (!absl::c_linear_search(plan.sought, true)) return nullptr;
  return Rehearsal::For(memory, call.inputs, plan.sought);
}

}  // namespace

struct Recorder::Attempt {
  std::unique_ptr<CaptureScope> scope;
  StepMemory::Recording recording;
  // The call's handles move here, and those that may die inside move on to the body.
  Values originals;
  GivenInputs given;
  std::optional<BodyCapture> capture;

  Attempt(Ground& ground, Books& books, std::unique_ptr<CaptureScope> scope, const Call& call)
      : scope(std::move(scope)),
        recording(*ground.memory),
        originals(call.inputs.begin(), call.inputs.end()),
        given(ground.memory.get(), &books.path(), true) {}
  Draft& draft() { return capture->draft(); }
};

// A tensor that the body has stored has no bytes until the recording is launched, and whoever has
// it may read it before.
absl::Status Recorder::KeepsNothing(Attempt& attempt) {
  const Values& outputs = attempt.draft().outputs;
  attempt.capture->ReleaseOwn();
  const StorageHolds made = attempt.capture->allocator().Held();
  for (const Storage* storage : made) {
    if (storage->outside() <= HandlesIn(outputs, storage)) continue;
    return absl::FailedPreconditionError(
        "its body stores a tensor that it makes, and nothing was to be launched");
  }
  return absl::OkStatus();
}

RecordOutcome Recorder::Record(Call& call, const CallRoles& roles) {
  CallJournal& journal = needs_.journal;
  ToldPhase told(journal.observers(), Phase::kRecord, call.function.name,
                 journal.stats().recordings);
  RecordOutcome outcome = RecordInside(call, roles);
  if (outcome.next == Next::kDone) told.Ended(outcome.status).IgnoreError();
  return outcome;
}

RecordOutcome Recorder::RecordInside(Call& call, const CallRoles& roles) {
  if (absl::Status room = needs_.functions.keeper().RoomForNode(*call.variant); !room.ok()) {
    needs_.functions.NoteFailure(call.variant, room.message());
    return Eagerly(Reason::kOverBudget, room.message());
  }
  const absl::Status back = needs_.journal.Told(Phase::kRestore, call.function,
                                                [&] { return needs_.books.Restore(); });
  if (!back.ok()) return Done(back);
  const absl::StatusOr<CheckpointId> before = needs_.ground.memory->Take();
  if (!before.ok()) return Done(before.status());
  const InputPlan plan = PlanInputs(call, roles);
  absl::StatusOr<std::unique_ptr<Rehearsal>> rehearsal =
      RehearsalFor(needs_.ground.device.memory(), call, plan);
  RecordOutcome outcome;
  if (rehearsal.ok()) {
    // Called from the same line both times: a library may put an address of the stack into an
    // argument, and the two recordings must show the same one.
    do {
      outcome = RecordFrom(*before, plan, rehearsal->get(), call);
    } while (outcome.next == Next::kRehearsed);  // true at most once
  } else {
    needs_.functions.NoteFailure(call.variant, rehearsal.status().message());
    outcome = Eagerly(Reason::kRecordFailed, rehearsal.status().message());
  }
  needs_.ground.memory->Drop(*before);
  return outcome;
}

RecordOutcome Recorder::RecordFrom(CheckpointId before, const InputPlan& plan, Rehearsal* rehearsal,
                                   Call& call) {
  absl::StatusOr<std::unique_ptr<CaptureScope>> scope =
      needs_.ground.memory->pool().scopes().Begin();
  if (!scope.ok()) return Done(scope.status());
  needs_.ground.foreign->BeginRecording();
  Attempt attempt(needs_.ground, needs_.books, *std::move(scope), call);
  const bool is_rehearsal = rehearsal != nullptr && !rehearsal->done();
  needs_.ground.Consume(call);
  Values to_body = attempt.given.Take(plan.roles, &attempt.originals);
  attempt.capture.emplace(needs_, call, attempt.originals, attempt.given, *attempt.scope,
                          rehearsal);
  attempt.capture->Run(plan, std::move(to_body));
  Draft& draft = attempt.draft();
  {
    // Requests that wait for captures to end (to park the memory, for example) also wait until this
    // launch is done, or is taken back.
    const DeferredQueue::Holding holding(needs_.ground.memory->pool().deferred());
    const bool is_recorded = draft.status.ok();
    if (is_recorded) draft.status = needs_.checks.OutsideIsLive(*draft.node, call);
    if (draft.status.ok() && !call.launches) draft.status = KeepsNothing(attempt);
    if (draft.status.ok()) draft.status = Settle(&attempt, call);
    if (draft.status.ok() && call.launches) draft.status = LaunchFirst(&attempt, call);
    if (draft.status.ok()) {
      if (!call.launches) needs_.executables.UploadAhead(*draft.node);
      return Done(Attach(&attempt, call));
    }
    draft.is_final |= is_recorded;
    if (absl::Status back = RollBackAttempt(before, &attempt, call); !back.ok()) return Done(back);
  }
  if (draft.is_final) return Done(draft.status);
  if (is_rehearsal && rehearsal->done()) return To(Next::kRehearsed);
  return GiveUp(draft, call);
}

absl::Status Recorder::RollBackAttempt(CheckpointId before, Attempt* attempt, Call& call) {
  Draft& draft = attempt->draft();
  draft.outputs.clear();
  const absl::Status taken_back = attempt->capture->UndoEffects();
  const absl::Status rolled_back = RollBack(before, attempt->scope.get(), draft.was_committed);
  attempt->recording.End();
  needs_.books.MakeStale(call, attempt->capture->allocator(), draft.marked, false);
  ForeignMemory& foreign = *needs_.ground.foreign;
  const absl::Status retaken =
      rolled_back.ok() ? foreign.RolledBack(call.stream) : foreign.GivenUp();
  if (draft.was_launched) {
    attempt->given.LoseDead(&attempt->originals);
  } else {
    attempt->given.Exhume(&attempt->originals);
  }
  const bool gives_back = rolled_back.ok() || !IsPlanted(PlantedBug::kLosesInputs);
  for (size_t i = 0; gives_back && i < attempt->originals.size(); ++i) {
    call.inputs[i] = std::move(attempt->originals[i]);
  }
  if (!rolled_back.ok()) {
    return entrance_.Lose(call.function, "its recording could not be rolled back", rolled_back);
  }
  // Foreign code goes on writing to memory that is free in the books: nobody may get it.
  if (!retaken.ok()) {
    foreign.StopGiving();
    return entrance_.Lose(call.function, "foreign code has lost its memory", retaken);
  }
  return taken_back;
}

// Puts the books back to `before`. Tries several times: a failure may pass, as when another thread
// uses the pool although it must not.
absl::Status Recorder::RollBack(CheckpointId before, CaptureScope* scope, bool was_committed) {
  bool has_failed = false;
  return Insist([&] {
    absl::Status status = scope->RollBack();
    // A scope that has ended, or whose rollback failed, cannot go back to its beginning any more.
    if (was_committed || !status.ok() || has_failed) {
      status = needs_.ground.memory->Restore(before, {});
    }
    has_failed = !status.ok();
    return status;
  });
}

// Notes what the recording has shown, for the next one: an input that is hidden is then copied, not
// patched; one that is written to is not copied.
RecordOutcome Recorder::GiveUp(const Draft& draft, Call& call) {
  Variant& variant = *call.variant;
  if (draft.hidden.empty() && draft.written.empty()) {
    if (draft.reason == Reason::kWarmUpAsked) {
      return To(Next::kWarmUp, draft.reason, draft.status.message());
    }
    if (draft.reason == Reason::kOutOfPool) {
      variant.room.GiveUp();
      // Runs at once may have had the memory since the warm-up, and a capture unmaps none.
      variant.warm = false;
    }
    needs_.functions.NoteFailure(&variant, draft.status.message());
    return Eagerly(draft.reason, draft.status.message());
  }
  for (uint32_t input : draft.written) variant.mutates[input] = true;
  if (!draft.hidden.empty()) {
    variant.doubts_hidden_at = variant.calls + needs_.ground.options.budget.retry_after;
  }
  for (uint32_t input : draft.hidden) {
    if (input >= kFirstKept) {
      variant.keeps_by_copy = true;
    } else {
      variant.uses[input].hidden = true;
    }
  }
  return To(Next::kAgain, draft.reason, draft.status.message());
}

void Recorder::HoldForeign(Node* node) {
  std::vector<const Graph*> graphs;
  node->VisitSections([&graphs](const Section& section) {
    if (section.graph != nullptr) graphs.push_back(section.graph.get());
  });
  std::shared_ptr<void> held = needs_.ground.foreign->Commit(graphs);
  if (held == nullptr || IsPlanted(PlantedBug::kForgetsForeign)) return;
  node->keep_alive.push_back(std::move(held));
}

absl::Status Recorder::Settle(Attempt* attempt, const Call& call) {
  Draft& draft = attempt->draft();
  StreamOrder& order = needs_.ground.order;
  GRAPHTREE_RETURN_IF_ERROR(needs_.ground.ContinueOn(call.stream));
  draft.was_committed = true;
  const StreamLives before = attempt->scope->Commit();
  HoldForeign(draft.node.get());
  needs_.ground.memory->TellOwners(draft.node->held, call.stream);
  for (const std::shared_ptr<StreamLife>& earlier : before) {
    GRAPHTREE_RETURN_IF_ERROR(order.WaitFor(*earlier, call.stream));
  }
  return absl::OkStatus();
}

absl::Status Recorder::LaunchFirst(Attempt* attempt, const Call& call) {
  Draft& draft = attempt->draft();
  Stream& stream = call.stream;
  Node* node = draft.node.get();
  if (!node->cuts.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(Located(attempt->capture->LaunchLast(),
                                      absl::StrCat("'", call.function.name, "'")));
    GRAPHTREE_RETURN_IF_ERROR(needs_.checks.Await(call, node->sites, stream));
  } else {
    GRAPHTREE_RETURN_IF_ERROR(needs_.kept.Place(node, stream));
    if (node->section.executable != nullptr) {
      GRAPHTREE_RETURN_IF_ERROR(needs_.launcher.LaunchNode(node, attempt->originals, stream));
      draft.was_launched = true;
      if (absl::Status done = needs_.checks.Await(call, node->sites, stream); !done.ok()) {
        SectionLauncher::GiveBackDraws(node);
        return done;
      }
    }
  }
  RedirectKept(&draft);
  return absl::OkStatus();
}

void Recorder::NoteConsumed(const Values& originals, const GivenInputs& given, Node* node) {
  if (IsPlanted(PlantedBug::kForgetsConsumed)) return;
  for (const GivenInputs::Buried& buried : given.buried()) {
    node->consumed.push_back({buried.held.output, buried.input});
  }
  for (const HeldOutput& held : needs_.books.path().ForgetDead()) {
    if (held.storage->outside() > HandlesIn(originals, held.storage)) continue;
    for (uint32_t input = 0; input < originals.size(); ++input) {
      if (originals[input].storage() != held.storage) continue;
      node->consumed.push_back({held.output, input, true});
      break;
    }
  }
}

absl::Status Recorder::Attach(Attempt* attempt, Call& call) {
  Draft& draft = attempt->draft();
  Node* node = draft.node.get();
  RedirectInputs(attempt->originals, &draft);
  needs_.ground.TellOwners(attempt->originals, call);
  needs_.ground.memory->TellOwners(node->held, call.stream);
  // Inputs that the function consumed may go now: the launch that reads them has been made.
  NoteConsumed(attempt->originals, attempt->given, node);
  NoteLasting(node);
  attempt->given.LayToRest();
  ForgetPlaces(node);
  attempt->originals.clear();
  attempt->recording.End();
  attempt->capture->ReleaseOwn();
  Path& path = needs_.books.path();
  needs_.books.HoldOutputs(call, node, draft.outputs, attempt->capture->allocator());
  const std::vector<HeldOutput>& all_held = path.ForgetDead();
  for (const HeldOutput& held : all_held) {
    node->live_after.push_back({held.output, Unpack(held.storage->block)});
  }
  NoteDeadMeanwhile(all_held, node);
  absl::StatusOr<CheckpointId> checkpoint = needs_.ground.memory->Take();
  *call.outputs = std::move(draft.outputs);
  if (!checkpoint.ok()) {
    // The call has run and has its outputs, but the next call has no state of the books to begin
    // from.
    entrance_.Lose(call.function, "no checkpoint could be taken after it", checkpoint.status())
        .IgnoreError();
    needs_.functions.keeper().graveyard().Add(std::move(draft.node));
    return absl::OkStatus();
  }
  node->checkpoint = *checkpoint;
  ++needs_.journal.On(call.function).recordings;
  Node* parent = path.current();
  FileNode(draft.plan, node, parent);
  parent->by_variant[node->variant->id].push_back(node);
  parent->children.push_back(std::move(draft.node));
  parent->last_child = node;
  CountRecording(node);
  if (!call.launches) {
    // The outputs die, so the books show what they showed before, and the path stays where it was.
    call.outputs->clear();
    path.ForgetDead();
    return absl::OkStatus();
  }
  path.Append(node, PathState::kRecording);
  needs_.checks.NoteRun(call, node->used);
  return absl::OkStatus();
}

void Recorder::CountRecording(Node* node) {
  TreeStats& stats = needs_.journal.stats();
  Variant& variant = *node->variant;
  variant.SettleWarmUps();
  variant.failures = 0;
  variant.given_up_for.clear();
  variant.was_recorded = true;
  ++stats.recordings;
  node->last_call = stats.calls;
  needs_.functions.keeper().NodeMade();
  needs_.functions.keeper().ExecutablesMade(*node);
  if (!node->cuts.empty()) needs_.journal.NoteBreaks(*node);
  stats.sections += node->cuts.size() + 1;
  for (const IngestOp& ingest : node->section.ingest) stats.copied_inputs += ingest.inputs.size();
  stats.patched_inputs += node->section.pointers.inputs();
}

}  // namespace graphtree
