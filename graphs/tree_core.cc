// Which route a call takes.
#include "graphs/tree_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/guarded_call.h"
#include "device/base/one_line.h"
#include "device/base/status_macros.h"
#include "graphs/access_log.h"
#include "graphs/match.h"
#include "graphs/planted_bug.h"

namespace graphtree {
namespace {

// Keeps a second caller out for as long as it lives.
class Entry {
 public:
  explicit Entry(Gate* gate)
      : gate_(gate), entered_(gate->TryEnter() || IsPlanted(PlantedBug::kLetsAllIn)) {}
  ~Entry() {
    if (entered_) gate_->Leave();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  bool entered() const { return entered_; }

 private:
  Gate* const gate_;
  const bool entered_;
};

bool LiesIn(const Values& values, absl::Span<const Value> inputs) {
  return !inputs.empty() && inputs.data() >= values.data() &&
         inputs.data() < values.data() + values.size();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TreeCore>> TreeCore::Create(Device& device,
                                                           const TreeOptions& options) {
  GRAPHTREE_RETURN_IF_ERROR(CheckBudget(options.budget));
  auto history = std::make_shared<StepHistory>();
  GRAPHTREE_ASSIGN_OR_RETURN(
      std::unique_ptr<StepMemory> memory,
      StepMemory::Create(device, options.pool_bytes, options.initial_bytes,
                         [history](const Storage& storage) { return history->Explain(storage); }));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> side, device.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, device.NewEvent({}));
  auto core = std::unique_ptr<TreeCore>(new TreeCore(
      device, options, std::move(memory), std::move(history), std::move(side), std::move(event)));
  GRAPHTREE_ASSIGN_OR_RETURN(core->root_.checkpoint, core->memory_->Take());
  core->books_at_ = &core->root_;
  return core;
}

TreeCore::TreeCore(Device& device, const TreeOptions& options, std::unique_ptr<StepMemory> memory,
                   std::shared_ptr<StepHistory> history, std::unique_ptr<Stream> side,
                   std::unique_ptr<Event> event)
    : device_(device),
      options_(options),
      tells_device_(device.info().architecture == "host"),
      place_(DevicePlaceOf(device)),
      home_pages_(device.memory().granularity()),
      history_(std::move(history)),
      any_checked_(options.check),
      memory_(std::move(memory)),
      foreign_(ForeignMemory::Make(memory_->shared_pool(),
                                   [this] { return gate_.is_called_elsewhere(); })),
      side_(std::move(side)),
      order_(std::move(event)),
      path_(&root_),
      keeper_(options.budget, device, memory_.get(), &path_, &root_, &stats_.reasons,
              &tally_,
              [this](const Node* gone) {
                if (books_at_ == gone) books_at_ = nullptr;
              },
              [this](const Node& node, size_t section, const Executable& executable) {
                TellOfDestruction(node, section, executable);
              }) {}

void TreeCore::Close(std::unique_ptr<TreeCore> core) {
  if (core->IsInOwnCall()) {
    TreeCore& running = *core;
    running.closed_inside_ = std::move(core);
    return;
  }
  core->gate_.Enter();
}

TreeCore::~TreeCore() {
  // Held outputs of replays get their blocks back, so that they can outlive the tree.
  if (path_.state() == PathState::kReplaying && !path_.Held().empty()) {
    BooksTo(path_.current()).IgnoreError();
  }
  path_.EndAlive();
  // The memory that queued work uses goes with the tree, on whatever streams it was called.
  // A call that failed once may work the next time.
  constexpr int kAttempts = 3;
  for (int i = 0; i < kAttempts && !memory_->pool().streams().WaitAndForget().ok(); ++i) {
  }
  order_.AwaitLast();
  TellOfTheEnd();
  if (device_.open_captures() > 0) keeper_.LeaveGraphsBehind();
}

FunctionId TreeCore::Register(std::string name, FunctionOptions options, Body body) {
  Function& function = *functions_.Add();
  function.name = OneLine(name);
  function.options = std::move(options);
  function.body = std::move(body);
  function.lasting_name = &history_->AddFunction(function.name);
  any_checked_ |= function.options.check;
  function.refusal = CheckOptions(function);
  if (!function.refusal.ok()) return function.id;
  const auto name_input = [&function](uint32_t input) {
    function.inputs_named = std::max<size_t>(function.inputs_named, size_t{input} + 1);
  };
  for (uint32_t input : function.options.mutated_inputs) name_input(input);
  for (uint32_t input : function.options.static_inputs) {
    name_input(input);
    if (function.is_static.size() <= input) function.is_static.resize(input + 1, false);
    function.is_static[input] = true;
  }
  for (const InputAlignment& aligned : function.options.alignments) {
    name_input(aligned.input);
    if (function.alignments.size() <= aligned.input) {
      function.alignments.resize(aligned.input + 1, 1);
    }
    function.alignments[aligned.input] = aligned.bytes;
  }
  return function.id;
}

void TreeCore::BeginStep() {
  std::unique_ptr<TreeCore> closed;  // by what the step let go
  Entry entry(&gate_);
  if (!entry.entered()) return RefuseStep();
  history_->SetStep(++step_);
  // Blocks of warm-ups and recordings that went stale are still in the books.
  if (!path_.empty()) books_at_ = nullptr;
  if (IsPlanted(PlantedBug::kNoStaleChecks)) {
    path_.EndAlive();
  } else {
    path_.EndStale(step_, any_checked_ ? history_->stacks().Here() : 0);
  }
  LetLeave();
  if (!keeper_.graveyard().empty()) keeper_.graveyard().Tidy(order_.last());
  closed = std::move(closed_inside_);
}

absl::Status TreeCore::Run(FunctionId id, absl::Span<Value> inputs, Stream& stream,
                           Values* outputs) {
  std::unique_ptr<TreeCore> closed;  // goes when nothing of the call is left
  Entry entry(&gate_);
  if (!entry.entered()) return WhyBusy(id);
  if (refusals_.any()) return refusals_.Take();
  Function* const function = functions_.Find(id);
  if (function == nullptr) return NotRegistered(id);
  if (memory_->pool().is_parked()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", function->name, "' was called while the tree's memory is parked. Wake it."));
  }
  if (outputs == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", function->name, "' was called without a place for its outputs"));
  }
  ++stats_.calls;
  if (!LiesIn(*outputs, inputs)) LetGo(outputs);
  Call call{*function, nullptr, inputs, stream, outputs};
  if (device_.open_captures() > 0) GRAPHTREE_RETURN_IF_ERROR(CheckStream(call));
  if (memory_->other_users().any()) GRAPHTREE_RETURN_IF_ERROR(WaitForOtherUsers(call));
  const absl::Status status = Route(call);
  if (closed_inside_ == nullptr) return status;
  outputs->clear();
  closed = std::move(closed_inside_);
  return ClosedInside(call.function);
}

absl::Status TreeCore::Route(Call& call) {
  Node* node = path_.current()->last_child;
  const bool replayable =
      path_.state() == PathState::kNone || path_.state() == PathState::kReplaying;
  if (node != nullptr && replayable) {
    if (Matches(*node, call)) {
      // One that was made for these addresses patches nothing.
      Node* exact = node->is_general ? FindExact(call) : nullptr;
      return Replay(exact != nullptr ? exact : node, call);
    }
    if (Node* other = FindByCall(call)) return Replay(other, call);
  }
  return RunSlow(call);
}

namespace {

bool IsOpen(const CaptureInfo& capture) { return capture.state != CaptureState::kNone; }

}  // namespace

// A launch on a stream that captures would become a part of that graph, or spoil it.
absl::Status TreeCore::CheckStream(const Call& call) const {
  const DevicePlace place = DevicePlaceOf(call.stream.device());
  if (place.id != place_.id) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", call.function.name, "' was called on a stream of another device, ",
                     place.name, "; this tree's is ", place_.name));
  }
  if (const auto capture = call.stream.Capture(); capture.ok() && IsOpen(*capture)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", call.function.name, "' was called on a stream that captures: a tree makes graphs of "
        "its own, and cannot be part of another's. Call it on another stream, or after the "
        "capture"));
  }
  StreamLife* const last = order_.last();
  if (last == nullptr || last == call.stream.life().get()) return absl::OkStatus();
  if (const auto capture = last->Capture(); !capture.ok() || !IsOpen(*capture)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "'", call.function.name, "' was not run: the stream that the tree was called on before "
      "captures now, so what the tree put there cannot be awaited. End that capture first, or call "
      "trees on streams that nobody captures"));
}

absl::Status TreeCore::WaitForOtherUsers(const Call& call) {
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(call));
  absl::Status ordered;
  for (const std::shared_ptr<StreamLife>& user : memory_->other_users().Take()) {
    if (ordered.ok()) ordered = order_.WaitFor(*user, call.stream);
    if (!ordered.ok()) memory_->other_users().Add(user);
  }
  return ordered;
}

std::string TreeCore::OtherHomeOf(Address address) {
  home_pages_.ForgetIfAnyMoved();
  if (home_pages_.Knows(address)) return "";
  std::string elsewhere = device_.memory().OtherHomeOf(address);
  if (elsewhere.empty()) home_pages_.Learn(address);
  return elsewhere;
}

absl::Status TreeCore::CheckHome(const Call& call, size_t i) {
  const Value& input = call.inputs[i];
  if (!input.is_tensor()) return absl::OkStatus();
  const Storage* storage = input.storage();
  std::string elsewhere;
  if (storage == nullptr) {
    elsewhere = OtherHomeOf(input.word());
  } else if (storage->IsElsewhere(place_.id)) {
    elsewhere = storage->owner()->DeviceName();
  }
  if (elsewhere.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "input ", i, " of '", call.function.name, "' lies on another device, ", elsewhere,
      "; this tree's is ", place_.name, ": copy it there first"));
}

absl::Status TreeCore::CheckInputs(const Call& call) {
  if (call.inputs.size() < call.function.inputs_named) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", call.function.name, "' was called with ", call.inputs.size(),
        " inputs, and its options speak of input ", call.function.inputs_named - 1,
        " (static_inputs, mutated_inputs or alignments; inputs count from 0)"));
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].is_consumed()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " of '", call.function.name, "' was consumed by an earlier call: a call "
          "takes the tensors that a tree made out of its caller's inputs. Pass a copy of the "
          "handle to the earlier one to keep it"));
    }
    if (call.inputs[i].is_tensor() && !call.inputs[i].layout()->possible()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " of '", call.function.name, "': ",
                       call.inputs[i].layout()->Check().message()));
    }
    GRAPHTREE_RETURN_IF_ERROR(CheckHome(call, i));
    const Storage* storage = call.inputs[i].storage();
    if (storage == nullptr && call.inputs[i].is_tensor() && call.inputs[i].word() == 0 &&
        RangeOf(call.inputs[i]).bytes > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " of '", call.function.name, "' is a tensor of ",
                       RangeOf(call.inputs[i]).bytes, " bytes at address 0"));
    }
    if (storage == nullptr) continue;
    if (storage->stale() && !IsPlanted(PlantedBug::kLaunchesStale)) {
      return absl::FailedPreconditionError(
          absl::StrCat("input ", i, " of '", call.function.name, "' may not be used: ",
                       storage->owner()->WhyStale(*storage)));
    }
  }
  return absl::OkStatus();
}

// What the caller said of its inputs and what is not so, where that cannot be helped by a copy.
absl::Status TreeCore::CheckPromises(const Call& call) const {
  for (const KeptOpaque& kept : call.variant->opaque) {
    const Value& input = call.inputs[kept.input];
    if (input.object() == kept.value.object()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", kept.input, " of '", call.function.name, "' has version ", input.word(),
        ", but is another object than the one that first had it. Give a new object or a "
        "changed one a version of its own"));
  }
  return absl::OkStatus();
}

bool TreeCore::MustRunEagerly(const Call& call, Reason* reason) {
  if (!options_.enabled) {
    *reason = Reason::kTreeOff;
    return true;
  }
  if (call.function.options.exclude) {
    *reason = Reason::kExcluded;
    return true;
  }
  if (!call.variant->warm_up_asked_last.empty()) {
    *reason = Reason::kWarmUpForEver;
    return true;
  }
  if (!call.variant->works_elsewhere.empty()) {
    *reason = Reason::kWorksElsewhere;
    return true;
  }
  if (RefusalOf(call) == RoleRefusal::kWritten) {
    *reason = Reason::kMutatedInput;
    return true;
  }
  if (WrittenInputsOverlap(call.inputs, call.variant->mutates)) {
    *reason = Reason::kOverlappingInputs;
    return true;
  }
  if (!keeper_.Admit(call.variant)) {
    *reason = Reason::kShapeLimit;
    return true;
  }
  if (call.variant->pause > 0) {
    --call.variant->pause;
    *reason = Reason::kPaused;
    return true;
  }
  if (IsRerecordedTooOften(*call.variant)) {
    *reason = Reason::kRerecordLimit;
    return true;
  }
  return false;
}

Reason TreeCore::WhyNot(const Node& node, const Call& call) {
  if (!workspaces_.AreCurrent(node.workspaces)) return Reason::kWorkspaceMoved;
  const size_t at = FirstMismatch(node.inputs.rows(), call.inputs);
  if (at < node.roles.size()) {
    if (node.roles[at] == InputRole::kPatched) return Reason::kAlignmentDiffers;
    return node.roles[at] == InputRole::kStatic ? Reason::kStaticMoved : Reason::kManagedMoved;
  }
  if (MovedOntoWritten(node, call.inputs)) return Reason::kOverlappingInputs;
  return path_.Fits(node, call.inputs) == Path::Fit::kHeldElsewhere ? Reason::kConsumerDiffers
                                                                    : Reason::kLivenessDiffers;
}

bool TreeCore::HasUnexpectedSibling(const Call& call) {
  const auto siblings = path_.current()->by_variant.find(call.variant->id);
  if (siblings == path_.current()->by_variant.end()) return false;
  const Node& last = *siblings->second.back();
  const Reason reason = WhyNot(last, call);
  Count(call.function, reason);
  if (reason == Reason::kWorkspaceMoved) return false;
  if (reason != Reason::kStaticMoved) return true;
  // Expected where the next recording takes it at any address, which is the last of its kind then.
  const size_t moved = FirstMismatch(last.inputs.rows(), call.inputs);
  return RoleFor(call, moved).role == InputRole::kStatic;
}

// A caller that never begins a step and holds what it gets stays on one path for ever, where
// nothing is replayed.
bool TreeCore::IsInLongStep(const Call& call) {
  Variant& variant = *call.variant;
  if (variant.step != step_) {
    variant.step = step_;
    variant.misses_in_step = 0;
  }
  const size_t held = path_.Held().size();
  if (held == 0 || ++variant.misses_in_step <= kUsualMissesInStep) return false;
  // An eager run counts itself.
  if (path_.state() != PathState::kWarmUp) Count(call.function, Reason::kLongStep);
  Tell(call.function, Reason::kLongStep,
       absl::StrCat("'", call.function.name, "' was not replayed in its last ",
                    variant.misses_in_step, " calls: ", ReasonSentence(Reason::kLongStep), " (",
                    held, " are held)"));
  return true;
}

void TreeCore::EndPathIfDead() {
  if (path_.empty() || !path_.Held().empty()) return;
  if (path_.state() != PathState::kReplaying) books_at_ = nullptr;
  path_.EndDead();
  LetLeave();
}

absl::Status TreeCore::RunSlow(Call& call) {
  const StepMemory::InCall in_call(*memory_);
  foreign_->AwaitAllocations();
  GRAPHTREE_RETURN_IF_ERROR(call.function.refusal);
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(call));
  GRAPHTREE_RETURN_IF_ERROR(CheckInputs(call));
  if (IsChecked(call.function)) {
    NoteCaller(&call);
    GRAPHTREE_RETURN_IF_ERROR(CheckInputsLive(call));
  }
  keeper_.SetNow(stats_.calls);
  keeper_.graveyard().Tidy(order_.last());
  const bool destroys = IsPlanted(PlantedBug::kDestroysInCaptures);
  if (destroys && device_.open_captures() > 0) keeper_.graveyard().DestroyAll();
  Reason reason;
  if (!MayRecordSize(call, &reason)) return RunEagerly(call, reason);
  FindVariant(call);
  GRAPHTREE_RETURN_IF_ERROR(CheckPromises(call));
  if (path_.state() == PathState::kRecording || path_.state() == PathState::kWarmUp) {
    EndPathIfDead();
    // Each warm-up would make the path longer.
    if (IsInLongStep(call) && path_.state() == PathState::kWarmUp) {
      return RunEagerly(call, Reason::kLongStep);
    }
  }
  for (;;) {
    if (MustRunEagerly(call, &reason)) return RunEagerly(call, reason);
    if (!call.variant->warm || path_.state() == PathState::kWarmUp) return WarmUp(call);
    const bool replayable = path_.state() != PathState::kRecording;
    if (replayable) {
      if (Node* node = FindByCall(call)) return Replay(node, call);
    }
    if (path_.state() == PathState::kReplaying && path_.Held().empty()) {
      // Nothing of the path is held: the call begins a new one, and may match a root there.
      EndPathIfDead();
      continue;
    }
    NoteMoves(call);
    // Before anything is counted as recorded again: it is not.
    if (RefusalOf(call) == RoleRefusal::kMoves) return RunEagerly(call, Reason::kInputMoves);
    if (replayable && HasUnexpectedSibling(call) &&
        ++path_.current()->unexpected[call.variant->id].count > options_.rerecord_limit) {
      return RunEagerly(call, Reason::kRerecordLimit);
    }
    return Record(call);
  }
}

std::exception_ptr TreeCore::Inspect(const std::function<void()>& look) {
  std::unique_ptr<TreeCore> closed;  // by `look`
  if (look == nullptr) return nullptr;
  const Looking looking(gate_);
  std::exception_ptr thrown = Caught(look);
  if (looking.is_outermost()) closed = std::move(closed_inside_);
  return thrown;
}

TreeStats TreeCore::Stats() {
  const Looking looking(gate_);
  const Held& held = keeper_.held();
  stats_.nodes = held.nodes;
  stats_.executables = held.executables;
  stats_.executable_bytes = held.executable_bytes;
  stats_.shapes = held.shapes;
  stats_.kept_bytes = memory_->kept_bytes();
  // What was let go outside of calls is nobody's any more. A body that asks is in the middle of
  // something: nothing is forgotten or freed for its sake.
  if (looking.is_outermost()) {
    path_.Held();
    memory_->pool().FreeQueued().IgnoreError();
  }
  stats_.live_blocks = path_.CountAlive();
  const PoolStats pool = memory_->pool().Stats();
  stats_.pool_reserved_bytes = pool.mapped_bytes;
  stats_.pool_live_bytes = pool.live_bytes;
  stats_.foreign_held_bytes = foreign_->held_bytes();
  return stats_;
}

}  // namespace graphtree
