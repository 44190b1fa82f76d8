// Runs a body now: as a warm-up in the step region, or outside the tree.
#include "graphs/run/eager_runner.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/check/body_check.h"
#include "graphs/inputs/access_log.h"
#include "graphs/inputs/aligned_inputs.h"
#include "graphs/inputs/clone_watch.h"
#include "graphs/memory/eager_traces.h"
#include "graphs/memory/stray_capture.h"
#include "graphs/run/launch_watch.h"
#include "graphs/run/located.h"
#include "graphs/run/parts_in_place.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

// By input. For a call without a variant only the options are known.
std::vector<bool> MutatedSomewhere(const Function& function, const Variant* variant,
                                   size_t inputs) {
  if (variant != nullptr) return variant->mutates_somewhere;
  std::vector<bool> mutated(inputs, false);
  for (const uint32_t input : function.options.mutated_inputs) {
    if (input < inputs) mutated[input] = true;
  }
  return mutated;
}

// By input, what the run may write where no op declares it. Checked mode finds out by itself which
// inputs that are only suspected are written.
std::vector<bool> WrittenUnseen(const Call& call, bool is_checked) {
  return MutatedSomewhere(call.function, is_checked ? nullptr : call.variant, call.inputs.size());
}

// Notes in the variant what a run has shown.
void Learn(const AccessLog& log, const EagerRandom& random, Variant* variant) {
  const std::vector<size_t> generators = random.generators();
  if (variant->generators.size() < generators.size()) {
    variant->generators.resize(generators.size(), 0);
  }
  for (size_t i = 0; i < generators.size(); ++i) {
    variant->generators[i] = std::max(variant->generators[i], generators[i]);
  }
  for (size_t i = 0; i < variant->mutates.size(); ++i) {
    if (IsPlanted(PlantedBug::kForgetsMutation)) continue;
    if (log.written()[i]) variant->mutates[i] = true;
    InputUse& use = variant->uses[i];
    use.ops = std::max(use.ops, log.uses()[i].ops);
    use.opaque |= log.uses()[i].opaque;
  }
}

}  // namespace

absl::Status EagerRunner::WarmUp(Call& call, absl::Span<const InputRole> roles) {
  return needs_.journal.Told(Phase::kWarmUp, call.function,
                             [&] { return WarmUpInside(call, roles); });
}

absl::Status EagerRunner::WarmUpInside(Call& call, absl::Span<const InputRole> roles) {
  GRAPHTREE_RETURN_IF_ERROR(needs_.journal.Told(Phase::kRestore, call.function,
                                                [&] { return needs_.books.Restore(); }));
  GRAPHTREE_RETURN_IF_ERROR(needs_.ground.SideAfter(call.stream));
  StepAllocator allocator = needs_.ground.MemoryFor(call.function, Region::kStep);
  Values originals(call.inputs.begin(), call.inputs.end());
  needs_.ground.Consume(call);
  GivenInputs given(needs_.ground.memory.get(), &needs_.books.path(), false);
  Values inputs = given.Take(roles, &originals);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (roles[i] != InputRole::kManaged) inputs[i] = originals[i];
  }
  allocator.set_make_room([&given] { given.BuryDead(); });
  auto give_back = [&] {
    given.GiveBackLiving(&originals);
    for (size_t i = 0; i < originals.size(); ++i) call.inputs[i] = std::move(originals[i]);
  };
  BodyRun run;
  run.given = &given;
  const absl::Status status = RunNow(call, *needs_.ground.side, allocator, &inputs, &run);
  needs_.ground.TellOwners(originals, call);
  if (!status.ok()) {
    inputs.clear();
    run.outputs.clear();
    needs_.books.MakeStale(call, allocator, {}, true);
    give_back();
    call.variant->last_failure.assign(status.message().data(), status.message().size());
    return status;
  }
  needs_.functions.NoteWarmUp(run.requests.warm_up, call.variant);
  needs_.checks.NoteRun(call, allocator.Used());
  inputs.clear();
  AppendWarmUp(call, run.outputs, allocator);
  given.BuryDead();
  given.LayToRest();
  *call.outputs = std::move(run.outputs);
  return absl::OkStatus();
}

void EagerRunner::AppendWarmUp(Call& call, const Values& outputs, const StepAllocator& allocator) {
  Path& path = needs_.books.path();
  ++needs_.journal.stats().warm_ups;
  ++needs_.journal.On(call.function).warm_ups;
  auto node = std::make_unique<Node>();
  node->parent = path.current();
  node->level = path.next_level();
  node->variant = call.variant;
  node->warm_up = true;
  needs_.books.HoldOutputs(call, path.AppendWarmUp(std::move(node)), outputs, allocator);
}

absl::Status EagerRunner::RunNow(Call& call, Stream& stream, StepAllocator& allocator,
                                 Values* inputs, BodyRun* run) {
  // Work on the caller's stream may use blocks that the pool knows only from other streams.
  if (!IsPlanted(PlantedBug::kForgetsEagerWork)) {
    GRAPHTREE_RETURN_IF_ERROR(needs_.ground.NoteWorkOn(call.stream));
  }
  const MemoryGiver::Taking taking(*needs_.ground.giver, {&call.function});
  EagerTraces traces(needs_.ground.memory.get(), &needs_.ground.order, stream, allocator,
                     needs_.ground.TagOf(call.function));
  absl::Status status = RunTraced(call, stream, allocator, inputs, run, &traces);
  if (status.ok() && &stream != &call.stream) status = HandOut(call, allocator, run->outputs);
  if (!status.ok() && !IsPlanted(PlantedBug::kForgetsUndo)) {
    status = AfterUndo(status, traces.UndoEffects());
  }
  if (!status.ok() && IsPlanted(PlantedBug::kForgetsFlight)) return status;
  const absl::Status joined = needs_.ground.order.ContinueAfter(stream, call.stream);
  allocator.TellOwners(joined.ok() ? call.stream : stream);
  if (!IsPlanted(PlantedBug::kForgetsEagerWork)) {
    needs_.ground.NoteWorkOn(call.stream).IgnoreError();
  }
  if (joined.ok()) return status;
  if (status.ok()) status = AfterUndo(joined, traces.UndoEffects());
  return needs_.entrance.Lose(call.function,
                              "its work cannot be ordered before what comes after it", status);
}

// The run's memory was given to the tree's own stream. What outlives the run, as a kept output or a
// tensor that the body has stored, is used on the caller's stream from here on.
absl::Status EagerRunner::HandOut(const Call& call, StepAllocator& allocator,
                                  const Values& outputs) {
  // Foreign code on another thread may have been in the pool since before the call.
  needs_.ground.foreign->AwaitAllocations();
  for (const Value& output : outputs) {
    Storage* const storage = output.is_tensor() ? output.storage() : nullptr;
    if (storage == nullptr || needs_.ground.memory->IsOthers(*storage)) continue;
    GRAPHTREE_RETURN_IF_ERROR(allocator.UseOn(storage, call.stream));
  }
  for (Storage* const held : allocator.Held()) {
    GRAPHTREE_RETURN_IF_ERROR(allocator.UseOn(held, call.stream));
  }
  return absl::OkStatus();
}

absl::Status EagerRunner::RunTraced(Call& call, Stream& stream, StepAllocator& allocator,
                                    Values* inputs, BodyRun* run, EagerTraces* traces) {
  AlignedInputs aligned;
  if (!IsPlanted(PlantedBug::kForgetsAlignment)) {
    GRAPHTREE_RETURN_IF_ERROR(Located(aligned.Replace(call.function, allocator, stream, inputs),
                                      absl::StrCat("'", call.function.name,
                                                   "', copying inputs that are less aligned "
                                                   "than declared")));
  }
  AccessLog log(*inputs);
  std::unique_ptr<BodyCheck> check;
  GRAPHTREE_RETURN_IF_ERROR(needs_.checks.Begin(call, run->given != nullptr, *inputs,
                                                aligned.IsCopied(inputs->size()), stream, &log,
                                                &check));
  AccessObserver* observer = check != nullptr ? check.get() : static_cast<AccessObserver*>(&log);
  // A shape that has not run yet breaks where another one did.
  if (call.function.breaks) {
    observer = traces->SaveWrites(
        *inputs, MutatedSomewhere(call.function, call.variant, inputs->size()), observer);
  }
  std::optional<CloneWatch> watch;
  if (aligned.any()) observer = &watch.emplace(call.function, aligned.Cloned(), observer);
  EagerRandom& random = traces->random();
  Launcher on(stream, allocator, observer, &random);
  const auto refuse = [&on](absl::Status why) { on.Fail(std::move(why)); };
  if (check != nullptr) check->set_refuse(refuse);
  if (watch.has_value()) watch->set_refuse(refuse);
  PartsInPlace parts(needs_.ground, needs_.journal, call, stream, allocator, traces, &log, &on);
  if (watch.has_value()) parts.SetWatch(&*watch);
  parts.SetCheck(check.get());
  on.means().cutter = &parts;
  std::vector<bool> written = WrittenUnseen(call, needs_.checks.Applies(call.function));
  for (uint32_t i = 0; watch.has_value() && i < written.size(); ++i) {
    if (written[i]) on.Fail(watch->NoteWritten(i));
  }
  RunBody(call, stream, aligned, inputs, &on, run);
  if (!on.ok()) {
    return needs_.checks.WithStacks(
        BodyFailure(call.function, on), call,
        check == nullptr ? std::vector<OpSite>() : check->log().sites());
  }
  call.function.breaks |= random.generators().size() > 1;
  if (call.variant != nullptr) {
    Learn(log, random, call.variant);
    LearnWriters(log, check.get(), call.inputs, call.variant);
  }
  run->requests = std::move(on.requests());
  needs_.journal.CountPads(run->requests.pads);
  GRAPHTREE_RETURN_IF_ERROR(needs_.checks.End(call, stream, check.get(), &written));
  if (!watch.has_value()) return absl::OkStatus();
  for (uint32_t i = 0; i < written.size(); ++i) {
    if (written[i]) GRAPHTREE_RETURN_IF_ERROR(watch->NoteWritten(i));
    written[i] = written[i] || log.written()[i] || watch->IsWritten(i);
  }
  GRAPHTREE_RETURN_IF_ERROR(aligned.CheckApart(call.function, written));
  const auto save = [traces](AddressRange range) { traces->SaveBeforeCopyBack(range); };
  const absl::Status copied = aligned.CopyBack(written, save, stream);
  if (copied.ok()) aligned.LetGo();
  return Located(copied, absl::StrCat("'", call.function.name, "'"));
}

// Up to what the run is to write of its caller's from copies.
void EagerRunner::RunBody(const Call& call, Stream& stream, const AlignedInputs& aligned,
                          Values* inputs, Launcher* on, BodyRun* run) {
  if (call.variant != nullptr) {
    on->memory().UseRoom(&call.variant->room, needs_.ground.options.pad_room_bytes, true);
  }
  std::optional<LaunchWatch> launches;
  const RunKind kind = run->given != nullptr ? RunKind::kWarmUp : RunKind::kEager;
  on->means().watch =
      LaunchWatch::For(needs_.journal, call.function, needs_.ground.scopes, kind, &launches);
  run->outputs = needs_.body.Run(call.function, *on, *inputs);
  on->means().watch = nullptr;
  on->Fail(EndStrayCapture(stream));
  // The ops that were launched need these objects until they have run, whatever comes of the call.
  needs_.functions.keeper().graveyard().Add(std::exchange(on->requests().keep_alive, {}));
  aligned.Redirect(&run->outputs);
  // Before anything looks at what is held, and forgets it.
  if (run->given != nullptr) run->given->BuryDead();
  if (!on->ok()) return;
  on->Fail(&stream == needs_.ground.side.get()
               ? needs_.kept.MoveAll(call.function, stream, &run->outputs)
               : needs_.kept.CountAll(call.function, run->outputs));
}

absl::Status EagerRunner::Run(Call& call, Reason reason, absl::Span<const RoleChoice> roles,
                              const std::string& detail) {
  if (!IsPlanted(PlantedBug::kHidesReason)) needs_.journal.Count(call.function, reason);
  const bool is_told =
      needs_.ground.options.strict || !call.function.warned[static_cast<size_t>(reason)];
  const std::string why = is_told && detail.empty() ? needs_.why.Told(call, reason, roles) : detail;
  if (needs_.ground.options.strict && !IsWanted(reason)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", call.function.name, "' was not recorded: ", ReasonSentence(reason),
                     why.empty() ? "" : ": ", why));
  }
  needs_.journal.Warn(call.function, reason, why);
  GRAPHTREE_RETURN_IF_ERROR(needs_.ground.ContinueOn(call.stream));
  needs_.books.LeaveDeadWay();
  StepAllocator allocator = needs_.ground.MemoryFor(call.function, Region::kLasting);
  Values inputs(call.inputs.begin(), call.inputs.end());
  BodyRun run;
  GRAPHTREE_RETURN_IF_ERROR(needs_.journal.Told(Phase::kEager, call.function, [&] {
    return RunNow(call, call.stream, allocator, &inputs, &run);
  }));
  if (call.variant != nullptr && run.requests.warm_up.empty()) call.variant->SettleWarmUps();
  ++needs_.journal.stats().eager;
  ++needs_.journal.On(call.function).eager;
  inputs.clear();
  needs_.ground.Consume(call);
  *call.outputs = std::move(run.outputs);
  return absl::OkStatus();
}

}  // namespace graphtree
