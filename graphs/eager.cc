// The body runs now: as a warm-up in the pool, or outside the tree.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/access_log.h"
#include "graphs/aligned_inputs.h"
#include "graphs/body_check.h"
#include "graphs/given_inputs.h"
#include "graphs/planted_bug.h"
#include "graphs/spoilt_ranges.h"
#include "graphs/tree_core.h"
#include "graphs/undo.h"
#include "graphs/write_log.h"

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
  StepAllocator allocator(memory_.get(), Region::kStep, TagOf(call.function));
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
  NoteRun(call, allocator.Used());
  auto node = std::make_unique<Node>();
  node->parent = path_.current();
  node->level = path_.next_level();
  node->variant = call.variant;
  node->warm_up = true;
  node->keep_alive = std::move(run.requests.keep_alive);
  Node* const place = path_.AppendWarmUp(std::move(node));
  inputs.clear();
  HoldOutputs(call, place, run.outputs, allocator);
  given.BuryDead();
  given.LayToRest();
  *call.outputs = std::move(run.outputs);
  return absl::OkStatus();
}

namespace {

// A run that is not recorded, of a function that is known to break: what it writes of its caller's
// is saved, so that a part that fails leaves it as it was.
class SavedRun {
 public:
  SavedRun(StepMemory* memory, Region own, Stream& stream, const Variant& variant, WordId tag,
           absl::Span<const Value> inputs, AccessObserver* next)
      : spoilt_(memory->pool().range_of(own)),
        undo_(memory, stream, tag),
        log_(next, [this](const Tensor& tensor) { Save(tensor.raw_bytes()); }) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_tensor()) continue;
      spoilt_.Show(RangeOf(inputs[i]));
      if (variant.mutates_somewhere[i]) Save(RangeOf(inputs[i]));
    }
  }

  AccessObserver* observer() { return &log_; }
  void Restore() { undo_.Restore().IgnoreError(); }

 private:
  void Save(AddressRange range) {
    for (const AddressRange part : spoilt_.Written(range)) undo_.Save(part).IgnoreError();
  }

  SpoiltRanges spoilt_;
  Undo undo_;
  WriteLog log_;
};

}  // namespace

// Runs the parts of a body that is not recorded where they stand, as every other run of it does: on
// the caller's stream, with memory of their own.
class TreeCore::PartsInPlace : public Cutter {
 public:
  PartsInPlace(TreeCore* tree, const Call& call, Stream& stream, EagerRandom* random,
               Launcher* body)
      : tree_(tree), call_(call), stream_(stream), random_(random), body_(body) {}

  absl::Status Cut(BreakRequest request) override {
    random_->EndSection();
    GRAPHTREE_RETURN_IF_ERROR(tree_->order_.ContinueOn(call_.stream));
    StepAllocator kept(tree_->memory_.get(), Region::kKept, tree_->TagOf(call_.function));
    Launcher on(call_.stream, kept, nullptr, random_);
    on.SetWorkspaces(&tree_->workspaces_);
    const absl::Status status = on.RunPart(request);
    body_->requests().AddOfPart(std::move(on.requests()));
    random_->EndSection();
    const absl::Status back = tree_->order_.ContinueOn(stream_);
    return status.ok() ? back : status;
  }

 private:
  TreeCore* const tree_;
  const Call& call_;
  Stream& stream_;
  EagerRandom* const random_;
  Launcher* const body_;
};

// Whatever comes of it, the caller's stream goes on behind it.
absl::Status TreeCore::RunNow(Call& call, Stream& stream, StepAllocator& allocator,
                              Values* inputs, BodyRun* run) {
  AlignedInputs aligned;
  if (!IsPlanted(PlantedBug::kForgetsAlignment)) {
    GRAPHTREE_RETURN_IF_ERROR(aligned.Replace(call.function, allocator, stream, inputs));
  }
  AccessLog log(*inputs);
  std::unique_ptr<BodyCheck> check;
  GRAPHTREE_RETURN_IF_ERROR(BeginCheck(call.function, *inputs, stream, &log, &check));
  EagerRandom random;
  AccessObserver* observer = check != nullptr ? check.get() : static_cast<AccessObserver*>(&log);
  std::unique_ptr<SavedRun> saved;
  if (call.variant != nullptr && call.variant->breaks()) {
    saved = std::make_unique<SavedRun>(memory_.get(), allocator.region(), stream, *call.variant,
                                       TagOf(call.function), *inputs, observer);
    observer = saved->observer();
  }
  Launcher on(stream, allocator, observer, &random);
  PartsInPlace parts(this, call, stream, &random, &on);
  on.SetCutter(&parts);
  run->outputs = RunBody(call.function, on, *inputs);
  // Best effort: a run that has begun goes on where there is no memory to save to.
  const auto take_back = [&] {
    random.GiveBack();
    if (saved != nullptr) saved->Restore();
  };
  if (!on.ok()) take_back();
  // A check looks for what nobody declared: it has to come back to be seen.
  const std::vector<bool> all(inputs->size(), true);
  if (on.ok()) {
    on.Fail(aligned.GiveBack(check != nullptr ? all : log.written(), stream, &run->outputs));
  }
  // Before anything looks at what is held, and forgets it.
  if (run->given != nullptr) run->given->BuryDead();
  if (on.ok()) {
    on.Fail(&stream == side_.get() ? MoveKept(call.function, stream, &run->outputs)
                                   : CountKept(call.function, run->outputs));
    if (!on.ok()) take_back();
  }
  on.Fail(order_.ContinueOn(call.stream));
  if (!on.ok()) {
    return WithStacks(BodyStatus(call.function, on), call,
                      check == nullptr ? std::vector<OpSite>() : check->log().sites());
  }
  if (call.variant != nullptr) Learn(log, random, call.variant);
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

absl::Status TreeCore::RunEagerly(Call& call, Reason reason, const std::string& detail) {
  if (!IsPlanted(PlantedBug::kHidesReason)) ++stats_.reasons[static_cast<size_t>(reason)];
  if (options_.strict && reason != Reason::kTreeOff && reason != Reason::kExcluded &&
      reason != Reason::kSizeNotListed) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", call.function.name, "' was not recorded: ", ReasonSentence(reason),
                     detail.empty() ? "" : ": ", detail));
  }
  Warn(call.function, reason,
       reason == Reason::kWarmUpForEver ? call.variant->warm_up_asked_last : detail);
  GRAPHTREE_RETURN_IF_ERROR(order_.ContinueOn(call.stream));
  StepAllocator allocator(memory_.get(), Region::kKept, TagOf(call.function));
  Values inputs(call.inputs.begin(), call.inputs.end());
  BodyRun run;
  GRAPHTREE_RETURN_IF_ERROR(RunNow(call, call.stream, allocator, &inputs, &run));
  if (call.variant != nullptr && run.requests.warm_up.empty()) call.variant->SettleWarmUps();
  ++stats_.eager;
  inputs.clear();
  Consume(call);
  *call.outputs = std::move(run.outputs);
  return absl::OkStatus();
}

void TreeCore::Warn(Function& function, Reason reason, const std::string& detail) {
  const bool wanted = reason == Reason::kTreeOff || reason == Reason::kExcluded ||
                      reason == Reason::kSizeNotListed;
  if (wanted) return;
  Tell(function, reason,
       absl::StrCat("'", function.name, "' runs eagerly: ", ReasonSentence(reason),
                    detail.empty() ? "" : ": ", detail));
}

void TreeCore::Tell(Function& function, Reason reason, const std::string& text) {
  bool& warned = function.warned[static_cast<size_t>(reason)];
  if (warned || !options_.warn) return;
  warned = true;
  options_.warn(text);
}

// The path holds what the run handed out, and what its body has stored somewhere: both are in the
// caller's hands until the step ends. Only the parts of a recording that is cut may go on using
// what they took from the body: every replay makes it again, at the same place.
void TreeCore::HoldOutputs(const Call& call, Node* node, const Values& outputs,
                           const StepAllocator& allocator) {
  uint32_t number = 0;
  for (const Value& output : outputs) {
    const bool is_new = output.storage() != nullptr && !path_.Holds(*output.storage());
    if (is_new) HoldMade(call, *node, output.storage(), number, number);
    ++number;
  }
  const StorageHolds held = allocator.Held();
  for (Storage* storage : held) {
    if (path_.Holds(*storage) || IsPlanted(PlantedBug::kForgetsStored)) continue;
    HoldMade(call, *node, storage, number++, kNotReturned);
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
