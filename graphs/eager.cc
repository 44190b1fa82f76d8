// The body runs now: as a warm-up in the pool, or outside the tree.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "graphs/access_log.h"
#include "graphs/aligned_inputs.h"
#include "graphs/body_check.h"
#include "graphs/eager_traces.h"
#include "graphs/given_inputs.h"
#include "graphs/part_runner.h"
#include "graphs/planted_bug.h"
#include "graphs/tree_core.h"

namespace graphtree {

absl::Status TreeCore::SideAfter(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(order_.ContinueOn(stream));
  return order_.ContinueOn(*side_);
}

// A body that has begun has effects and may not run twice, so what the pool cannot give comes from
// elsewhere (StepAllocator), and what fails is the body's own error.
absl::Status TreeCore::WarmUp(Call& call) {
  GRAPHTREE_RETURN_IF_ERROR(BooksTo(path_.current()));
  GRAPHTREE_RETURN_IF_ERROR(SideAfter(call.stream));
  StepAllocator allocator = MemoryFor(call.function, Region::kStep);
  Values originals(call.inputs.begin(), call.inputs.end());
  std::vector<InputRole> roles;
  for (size_t i = 0; i < originals.size(); ++i) {
    roles.push_back(memory_->RoleOf(originals[i], call.function.IsStatic(i)));
  }
  Consume(call);
  GivenInputs given(memory_.get(), &path_, false);
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
  const absl::Status status = RunNow(call, *side_, allocator, &inputs, &run);
  books_at_ = nullptr;
  if (!status.ok()) {
    inputs.clear();
    run.outputs.clear();
    TakeBackMade(call, allocator, {}, true);
    give_back();
    return status;
  }
  NoteWarmUp(call, run.requests.warm_up);
  ++stats_.warm_ups;
  ++tally_.On(EdgeTo(call.function)).warm_ups;
  NoteRun(call, allocator.Used());
  auto node = std::make_unique<Node>();
  node->parent = path_.current();
  node->level = path_.next_level();
  node->variant = call.variant;
  node->warm_up = true;
  Node* const place = path_.AppendWarmUp(std::move(node));
  inputs.clear();
  HoldOutputs(call, place, run.outputs, allocator);
  given.BuryDead();
  given.LayToRest();
  *call.outputs = std::move(run.outputs);
  return absl::OkStatus();
}

// Runs the parts of a body that is not recorded where they stand.
class TreeCore::PartsInPlace : public Cutter {
 public:
  // All outlive it. `stream` is the body's.
  PartsInPlace(TreeCore* tree, const Call& call, Stream& stream, EagerTraces* traces,
               Launcher* body)
      : tree_(tree),
        caller_(call.stream),
        stream_(stream),
        traces_(traces),
        body_(body),
        parts_(caller_, tree->MemoryFor(call.function, Region::kKept), &tree->workspaces_,
               &traces->random(),
               [this](const Tensor& tensor) {
                 if (IsPlanted(PlantedBug::kForgetsPartWrites)) return;
                 traces_->SaveOfPart(caller_, tensor);
               }) {}

  absl::Status Cut(BreakRequest request) override {
    traces_->random().EndSection();
    GRAPHTREE_RETURN_IF_ERROR(tree_->order_.ContinueOn(caller_));
    const absl::Status status = parts_.Run(request);
    body_->requests().AddOfPart(parts_.TakeRequests());
    traces_->random().EndSection();
    const absl::Status back = tree_->order_.ContinueOn(stream_);
    return status.ok() ? back : status;
  }

 private:
  TreeCore* const tree_;
  Stream& caller_;
  Stream& stream_;
  EagerTraces* const traces_;
  Launcher* const body_;
  PartRunner parts_;
};

// Whatever comes of it, the caller's stream goes on after it: what is still under way when the call
// fails reads and writes memory that the caller may use for something else then.
absl::Status TreeCore::RunNow(Call& call, Stream& stream, StepAllocator& allocator,
                              Values* inputs, BodyRun* run) {
  // What runs on the caller's stream uses blocks that the pool knows from other streams alone.
  if (!IsPlanted(PlantedBug::kForgetsEagerWork)) {
    GRAPHTREE_RETURN_IF_ERROR(NoteWorkOn(call.stream));
  }
  EagerTraces traces(memory_.get(), &order_, stream, allocator, TagOf(call.function));
  absl::Status status = RunTraced(call, stream, allocator, inputs, run, &traces);
  if (!status.ok() && !IsPlanted(PlantedBug::kForgetsUndo)) {
    status = AfterUndo(status, traces.TakeBack());
  }
  if (!status.ok() && IsPlanted(PlantedBug::kForgetsFlight)) return status;
  const absl::Status joined = order_.ContinueAfter(stream, call.stream);
  if (!IsPlanted(PlantedBug::kForgetsEagerWork)) NoteWorkOn(call.stream).IgnoreError();
  if (joined.ok()) return status;
  if (status.ok()) status = AfterUndo(joined, traces.TakeBack());
  return Lose(call.function, "its work cannot be ordered before what comes after it", status);
}

namespace {

// By input. Of a call without a variant nothing but the options is known.
std::vector<bool> MutatedSomewhere(const Function& function, const Variant* variant,
                                   size_t inputs) {
  if (variant != nullptr) return variant->mutates_somewhere;
  std::vector<bool> mutated(inputs, false);
  for (const uint32_t input : function.options.mutated_inputs) {
    if (input < inputs) mutated[input] = true;
  }
  return mutated;
}

}  // namespace

absl::Status TreeCore::RunTraced(Call& call, Stream& stream, StepAllocator& allocator,
                                 Values* inputs, BodyRun* run, EagerTraces* traces) {
  AlignedInputs aligned;
  if (!IsPlanted(PlantedBug::kForgetsAlignment)) {
    GRAPHTREE_RETURN_IF_ERROR(aligned.Replace(call.function, allocator, stream, inputs));
  }
  AccessLog log(*inputs);
  std::unique_ptr<BodyCheck> check;
  GRAPHTREE_RETURN_IF_ERROR(BeginCheck(call, run->given != nullptr, *inputs, stream, &log, &check));
  AccessObserver* observer = check != nullptr ? check.get() : static_cast<AccessObserver*>(&log);
  if (call.variant == nullptr ? call.function.breaks : call.variant->breaks()) {
    observer = traces->SaveWrites(
        *inputs, MutatedSomewhere(call.function, call.variant, inputs->size()), observer);
  }
  EagerRandom& random = traces->random();
  Launcher on(stream, allocator, observer, &random);
  if (check != nullptr) check->set_refuse([&on](absl::Status why) { on.Fail(std::move(why)); });
  PartsInPlace parts(this, call, stream, traces, &on);
  on.SetCutter(&parts);
  run->outputs = RunBody(call.function, on, *inputs);
  // What was launched needs them until it has run, whatever comes of the call.
  keeper_.graveyard().Add(std::exchange(on.requests().keep_alive, {}));
  // A check looks for what nobody declared: all has to come back to be seen.
  std::vector<bool> written = log.written();
  for (uint32_t input : call.function.options.mutated_inputs) written[input] = true;
  if (on.ok()) on.Fail(aligned.CheckApart(call.function, written));
  if (IsChecked(call.function)) written.assign(written.size(), true);
  if (on.ok()) on.Fail(aligned.GiveBack(written, stream, &run->outputs));
  // Before anything looks at what is held, and forgets it.
  if (run->given != nullptr) run->given->BuryDead();
  if (on.ok()) {
    on.Fail(&stream == side_.get() ? MoveKept(call.function, stream, &run->outputs)
                                   : CountKept(call.function, run->outputs));
  }
  if (!on.ok()) {
    return WithStacks(BodyStatus(call.function, on), call,
                      check == nullptr ? std::vector<OpSite>() : check->log().sites());
  }
  call.function.breaks |= random.generators().size() > 1;
  if (call.variant != nullptr) {
    Learn(log, random, call.variant);
    LearnWriters(log, check.get(), call.inputs, call.variant);
  }
  run->requests = std::move(on.requests());
  return EndCheck(call, stream, check.get());
}

void TreeCore::Learn(const AccessLog& log, const EagerRandom& random, Variant* variant) {
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

namespace {

// By the options; no error in strict mode.
bool IsWanted(Reason reason) {
  return reason == Reason::kTreeOff || reason == Reason::kExcluded ||
         reason == Reason::kSizeNotListed || reason == Reason::kSizesVary;
}

}  // namespace

absl::Status TreeCore::RunEagerly(Call& call, Reason reason, const std::string& detail) {
  if (!IsPlanted(PlantedBug::kHidesReason)) Count(call.function, reason);
  const bool is_told = options_.strict || !call.function.warned[static_cast<size_t>(reason)];
  const std::string why = is_told && detail.empty() ? WhyEagerly(call, reason) : detail;
  if (options_.strict && !IsWanted(reason)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", call.function.name, "' was not recorded: ", ReasonSentence(reason),
                     why.empty() ? "" : ": ", why));
  }
  Warn(call.function, reason, why);
  GRAPHTREE_RETURN_IF_ERROR(order_.ContinueOn(call.stream));
  StepAllocator allocator = MemoryFor(call.function, Region::kKept);
  Values inputs(call.inputs.begin(), call.inputs.end());
  BodyRun run;
  GRAPHTREE_RETURN_IF_ERROR(RunNow(call, call.stream, allocator, &inputs, &run));
  if (call.variant != nullptr && run.requests.warm_up.empty()) call.variant->SettleWarmUps();
  ++stats_.eager;
  ++tally_.On(EdgeTo(call.function)).eager;
  inputs.clear();
  Consume(call);
  *call.outputs = std::move(run.outputs);
  return absl::OkStatus();
}

void TreeCore::Warn(Function& function, Reason reason, const std::string& detail) {
  // That sizes vary is the program's doing: its policy is wanted, and that it applies is news.
  if (IsWanted(reason) && reason != Reason::kSizesVary) return;
  Tell(function, reason,
       absl::StrCat("'", function.name, "' runs eagerly: ", ReasonSentence(reason),
                    detail.empty() ? "" : ": ", detail));
}

void TreeCore::Tell(Function& function, Reason reason, const std::string& text) {
  bool& warned = function.warned[static_cast<size_t>(reason)];
  if (warned || !options_.warn) return;
  warned = true;
  NoteThrown(Guarded([&] { options_.warn(text); }));
}

// The path holds what the run handed out, and what its body has stored somewhere: both are in the
// caller's hands until the step ends. Only the parts of a recording that is cut may go on using
// what they took from the body: every replay makes it again, at the same place.
void TreeCore::HoldOutputs(const Call& call, Node* node, const Values& outputs,
                           const StepAllocator& allocator) {
  uint32_t number = 0;
  for (const Value& output : outputs) {
    const bool is_new = output.storage() != nullptr && !path_.Holds(*output.storage());
    if (is_new) {
      HoldMade(call, *node, output.storage(), number, number);
      node->stores |= output.storage()->outside() > HandlesIn(outputs, output.storage());
    }
    ++number;
  }
  const StorageHolds held = allocator.Held();
  for (Storage* storage : held) {
    if (path_.Holds(*storage) || IsPlanted(PlantedBug::kForgetsStored)) continue;
    HoldMade(call, *node, storage, number++, kNotReturned);
    node->stores = true;
    if (node->cuts.empty()) continue;
    storage->remade = true;
    node->remade.push_back(storage->range());
  }
}

// What a body has stored that failed, or whose recording was given up, is nobody's: neither what it
// made nor what stood for an input that would have been patched.
void TreeCore::TakeBackMade(const Call& call, const StepAllocator& allocator,
                            absl::Span<const MarkedInput> marked, bool has_blocks) {
  const auto take_back = [&](Storage* storage) {
    storage->producer = call.function.id;
    storage->output = kTakenBack;
    storage->step = step_;
    if (IsPlanted(PlantedBug::kForgetsTakenBack)) return;
    storage->set_state(StorageState::kStale);
  };
  const StorageHolds held = allocator.Held();
  for (Storage* storage : held) {
    if (has_blocks) memory_->pool().Free(Unpack(storage->block)).IgnoreError();
    take_back(storage);
  }
  for (const MarkedInput& input : marked) take_back(input.mark.storage());
}

void TreeCore::HoldMade(const Call& call, const Node& node, Storage* storage, uint32_t number,
                        uint32_t output) {
  if (!memory_->InStepRegion(storage->range())) return;
  storage->producer = node.variant->function->id;
  storage->output = output;
  storage->step = step_;
  storage->made_at = call.from;
  path_.Hold(storage, {node.level, number}, nullptr);
}

}  // namespace graphtree
