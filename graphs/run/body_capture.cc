// Captures sections, cuts them at breaks, and takes everything back after a failure.
#include "graphs/run/body_capture.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "graphs/memory/stray_capture.h"
#include "graphs/run/all_work.h"
#include "graphs/run/ended_inputs.h"
#include "graphs/run/located.h"
#include "graphs/run/planted_bug.h"
#include "graphs/run/recorded_inputs.h"
#include "graphs/run/recorded_outputs.h"

namespace graphtree {
namespace {

// The most generators that any section draws from.
size_t MostGenerators(const Variant& variant) {
  size_t most = 0;
  for (const size_t generators : variant.generators) most = std::max(most, generators);
  return most;
}

std::vector<uint32_t> SoughtInputs(const InputPlan& plan) {
  std::vector<uint32_t> sought;
  for (uint32_t i = 0; i < plan.sought.size(); ++i) {
    if (plan.sought[i]) sought.push_back(i);
  }
  return sought;
}

}  // namespace

BodyCapture::BodyCapture(const Needs& needs, Call& call, const Values& originals,
                         GivenInputs& given, CaptureScope& scope, Rehearsal* rehearsal)
    : needs_(needs),
      call_(call),
      originals_(originals),
      given_(given),
      scope_(scope),
      capture_stream_(*needs.ground.capture_stream),
      allocator_(needs.ground.MemoryFor(call.function, Region::kStep)),
      words_(MostGenerators(*call.variant)),
      random_([this] { return words_.Next(); }),
      writes_(needs.ground, call, originals, draft_),
      parts_(call.stream, needs.ground.MemoryFor(call.function, Region::kLasting),
             &needs.ground.workspaces, &taken_,
             [this](const PartRunner::Write& write) { writes_.SaveOfPart(write); }),
      watch_(needs.journal, call.function, needs.ground.scopes, RunKind::kCapture, &identities_) {
  draft_.rehearsal = rehearsal;
  parts_.SetWatch(LaunchWatch::For(needs.journal, call.function, needs.ground.scopes,
                                   RunKind::kPart, &parts_watch_));
}

void BodyCapture::StartNode(InputPlan plan) {
  draft_.plan = std::move(plan);
  draft_.node = std::make_unique<Node>();
  Node* node = draft_.node.get();
  node->parent = needs_.books.path().current();
  node->level = needs_.books.path().next_level();
  node->variant = call_.variant;
  node->id = needs_.journal.stats().recordings;  // the number of the recording, if it succeeds
  if (call_.function.options.hooks.any()) node->hooks = &call_.function.options.hooks;
  std::vector<OutputRef> live;
  for (const HeldOutput& held : needs_.books.path().ForgetDead()) {
    live.push_back(held.output);
    held_before_.push_back({held.storage->serial, held.output});
    writes_.Show(held.storage->range());
  }
  node->live_before = LiveSet(std::move(live));
}

// Tells CaptureWrites where inputs lie, so that their bytes are saved before an op writes there: to
// the input, or to a new block in the place of an input that has died.
void BodyCapture::ShowInputs() {
  for (uint32_t i = 0; i < originals_.size(); ++i) {
    const InputRole role = draft_.node->roles[i];
    if (!originals_[i].is_tensor() || role == InputRole::kCopied) continue;
    writes_.Show(RangeOf(originals_[i]));
  }
}

// The inputs that lie at the same address in every call that the recording serves.
std::vector<const Storage*> BodyCapture::Pinned() const {
  std::vector<const Storage*> pinned;
  for (uint32_t i = 0; i < originals_.size(); ++i) {
    const Storage* storage = originals_[i].storage();
    if (storage != nullptr && draft_.node->roles[i] == InputRole::kStatic) {
      pinned.push_back(storage);
    }
  }
  return pinned;
}

// Of the outputs that the path held before.
uint64_t BodyCapture::LastSerialBefore() const {
  uint64_t last = 0;
  for (const auto& [serial, output] : held_before_) last = std::max(last, serial);
  return last;
}

void BodyCapture::Run(InputPlan plan, Values to_body) {
  StartNode(std::move(plan));
  draft_.status = words_.Allocate(&allocator_, capture_stream_);
  if (!draft_.status.ok()) {
    draft_.reason = Reason::kOutOfPool;
    return;
  }
  Values inputs = PrepareInputs(needs_.ground, originals_, std::move(to_body),
                                words_.Scalars(GeneratorsOf(0)), &draft_, &allocator_);
  for (uint32_t i = 0; i < draft_.stand_ins.size(); ++i) {
    if (draft_.node->roles[i] == InputRole::kManaged) draft_.stand_ins[i] = given_.SerialOf(i);
  }
  if (!draft_.status.ok()) return;
  ShowInputs();
  const bool follows =
      !call_.function.options.kept_outputs.empty() && !call_.variant->keeps_by_copy;
  listeners_ = std::make_unique<CaptureListeners>(
      needs_.ground, CaptureListeners::Wishes{
                         .inputs = inputs,
                         .pinned = Pinned(),
                         .last_serial = LastSerialBefore(),
                         .marked = draft_.marked,
                         .follows_outputs = follows,
                         .sites = needs_.checks.Applies(call_.function),
                         .on_write = [this](const Tensor& tensor) { writes_.Note(tensor); },
                         .refuse = [this](absl::Status why) { on_->Fail(std::move(why)); }});
  Launcher on(capture_stream_, allocator_, listeners_->first(), &random_);
  on.means().is_captured = true;
  on.means().cutter = this;
  on.means().watch = &watch_;
  on.memory().UseRoom(&call_.variant->room, needs_.ground.options.pad_room_bytes, false);
  on_ = &on;
  Capture(&on, &inputs);
  if (draft_.status.ok()) return Finish(&on);
  // The work of sections before a break may be under way, and needs these objects.
  needs_.functions.keeper().graveyard().Add(std::exchange(on.requests().keep_alive, {}));
}

void BodyCapture::Capture(Launcher* on, Values* inputs) {
  draft_.status = BeginSection();
  if (!draft_.status.ok() && !capturing_) return;
  on->Fail(draft_.status);
  allocator_.set_make_room([this] { given_.BuryDead(); });
  draft_.outputs = needs_.body.Run(call_.function, *on, *inputs);
  inputs->clear();
  given_.BuryDead();  // before anything calls Path::ForgetDead, which forgets dead outputs
  if (on->ok()) {
    const absl::Status kept = needs_.kept.Capture(originals_, &draft_);
    draft_.is_final |= absl::IsInvalidArgument(kept);
    on->Fail(kept);
  }
  absl::Status ended = capturing_ ? EndSection(on->status()) : on->status();
  draft_.status = Located(ended, on->progress().Place());
  if (draft_.status.ok()) return;
  draft_.is_final |= watch_.has_refused();
  if (draft_.is_final) {
    draft_.status = needs_.checks.WithStacks(BodyFailure(call_.function, *on), call_,
                                             listeners_->ops().sites());
  } else if (draft_.reason == Reason::kRecordFailed) {
    draft_.reason = allocator_.spilled() ? Reason::kOutOfPool : ReasonOf(draft_.status);
  }
  if (draft_.is_rehearsal()) draft_.hidden = SoughtInputs(draft_.plan);
}

void BodyCapture::KeepRehearsal() {
  draft_.rehearsal->Keep(std::move(draft_.node->section.graph));
  draft_.status = absl::CancelledError("recorded only to be compared");
  // The rehearsal is not done if its graph is empty: such a graph shows no address.
  if (draft_.is_rehearsal()) draft_.hidden = SoughtInputs(draft_.plan);
}

void BodyCapture::Finish(Launcher* on) {
  on->requests().AddOfPart(std::move(asked_by_parts_));
  if (!TakeRequests(&on->requests())) {
    // Parts have run, and their work needs these objects.
    needs_.functions.keeper().graveyard().Add(std::exchange(on->requests().keep_alive, {}));
    return;
  }
  if (draft_.is_rehearsal()) return KeepRehearsal();
  const StepMemory& memory = *needs_.ground.memory;
  if (!HasAllWork(call_, memory, needs_.books.path(), listeners_->work(), &draft_)) return;
  HoldUsed();
  NoteNeeds();
  if (!draft_.written.empty()) {
    draft_.status = absl::AbortedError(
        absl::StrCat("it writes to input ", draft_.written[0], " for the first time"));
    return;
  }
  if (needs_.checks.Applies(call_.function)) {
    needs_.checks.NoteOutside(listeners_->ops(), draft_.marked, draft_.node.get());
    draft_.status = needs_.checks.HostValuesAgree(call_, listeners_->ops());
    draft_.is_final = !draft_.status.ok();
    if (draft_.is_final) return;
  }
  draft_.status = FindInputOps(originals_, &listeners_->pointers(), &draft_);
  if (draft_.status.ok()) draft_.status = KeptOutputs::FindCopies(&draft_);
  if (!draft_.status.ok() ||
      !ClassifyOutputs(*needs_.ground.memory, needs_.books.path(), originals_, allocator_, &draft_))
    return;
  KeptOutputs::NoteInputs(draft_.node.get());
  draft_.node->used = allocator_.Used();
  if (!draft_.node->cuts.empty()) draft_.node->stand_ins = draft_.stand_ins;
  FinishGraph();
}

bool BodyCapture::TakeRequests(BodyRequests* requests) {
  if (!requests->warm_up.empty() && !IsPlanted(PlantedBug::kRecordsUnsettled)) {
    needs_.functions.NoteWarmUp(requests->warm_up, call_.variant);
    draft_.status = absl::AbortedError(requests->warm_up);
    draft_.reason = Reason::kWarmUpAsked;
    return false;
  }
  if (!needs_.ground.workspaces.AreCurrent(requests->workspaces)) {
    draft_.status = absl::AbortedError("the workspace moved while the body ran");
    draft_.reason = Reason::kWorkspaceMoved;
    return false;
  }
  if (!draft_.is_rehearsal()) needs_.journal.CountPads(requests->pads);
  draft_.node->workspaces = std::move(requests->workspaces);
  if (IsPlanted(PlantedBug::kForgetsKeepAlive)) requests->keep_alive.clear();
  draft_.node->keep_alive = std::move(requests->keep_alive);
  return true;
}

void BodyCapture::HoldUsed() {
  Values used = listeners_->holds().Take();
  if (used.empty() || IsPlanted(PlantedBug::kForgetsUsed)) return;
  draft_.node->held = std::move(used);
  draft_.node->stores = true;
}

void BodyCapture::NoteNeeds() {
  HoldLog& holds = listeners_->holds();
  for (const Value& output : draft_.outputs) holds.NoteUse(output.storage());
  for (const auto& [serial, output] : held_before_) {
    if (absl::c_linear_search(draft_.stand_ins, serial)) continue;  // the call brings it
    if (!holds.HasUsedOfStep(serial)) continue;
    draft_.node->needs.push_back(output);
    draft_.node->stores = true;
  }
}

size_t BodyCapture::GeneratorsOf(size_t section) const {
  const std::vector<size_t>& generators = call_.variant->generators;
  return section < generators.size() ? generators[section] : 0;
}

absl::Status BodyCapture::BeginSection() {
  Node* node = draft_.node.get();
  Section* section = &node->last();
  words_.BeginSection(GeneratorsOf(section_number()));
  if (section_number() > 0) {
    for (IngestPlan& plan : IngestPlan::For({}, words_.Scalars(GeneratorsOf(section_number())))) {
      section->ingest.push_back({std::move(plan), 0, {}});
    }
  }
  GRAPHTREE_RETURN_IF_ERROR(capture_stream_.BeginCapture(CaptureMode::kThreadLocal));
  capturing_ = true;
  timing_ = {};
  if (needs_.journal.is_watched()) {
    needs_.journal.Say(GraphMoment::kCaptureBegin, *node, section_number(), &capture_stream_);
  }
  tokens_.clear();
  watch_.BeginSection(node->id, section_number());
  identities_.BeginSection(section->ingest.size());
  return LaunchIngest(*section, capture_stream_, &tokens_);
}

absl::Status BodyCapture::EndSection(const absl::Status& body) {
  Node* node = draft_.node.get();
  Section* section = &node->last();
  capturing_ = false;
  absl::StatusOr<std::unique_ptr<Graph>> graph = capture_stream_.EndCapture();
  timing_.AddTo(&needs_.journal.stats().captures);
  const absl::Status status = body.ok() ? graph.status() : body;
  if (status.ok()) section->identity = IdentityOfEnded(**graph);
  if (needs_.journal.is_watched()) {
    needs_.journal.Say(GraphMoment::kCaptureEnd, *node, section_number(), &capture_stream_,
                       status.ok());
  }
  GRAPHTREE_RETURN_IF_ERROR(status);
  section->graph = *std::move(graph);
  listeners_->work().EndSection(section->op_count(), tokens_.size() + draft_.copies_out.size());
  for (const RandomUse& use : random_.TakeUses()) section->random.push_back({use, {}});
  for (size_t i = 0; i < tokens_.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(section->ingest[i].op, section->graph->Find(tokens_[i]));
  }
  return listeners_->pointers().EndSection(*section->graph, tokens_.size());
}

std::shared_ptr<const GraphIdentity> BodyCapture::IdentityOfEnded(const Graph& graph) {
  GraphIdentity is;
  is.tree = needs_.journal.observers().tree();
  is.function = call_.function.name;
  is.recording = draft_.node->id;
  is.section = section_number();
  return identities_.EndSection(graph.op_count(), draft_.copies_out.size(),
                                on_->may_have_others(), std::move(is));
}

// A graph without ops needs no executable: a hit then makes no device call.
bool BodyCapture::FinishGraph() {
  Node* node = draft_.node.get();
  Section* last = &node->last();
  if (last->graph->op_count() == 0) {
    last->graph = nullptr;
    last->identity = nullptr;
    return true;
  }
  draft_.status = needs_.executables.Make(*node, node->cuts.size(), last);
  if (draft_.status.ok()) return true;
  draft_.reason = ReasonOf(draft_.status);
  if (draft_.reason == Reason::kRecordFailed && absl::IsResourceExhausted(draft_.status)) {
    draft_.reason = Reason::kOverBudget;
  }
  return false;
}

// The names of the ops of the open capture that no other op waits for. None if the launcher has
// captured all of them: it has joined its own forks.
std::string BodyCapture::OpenEnds() {
  const absl::StatusOr<size_t> count = capture_stream_.CapturedOpCount();
  if (count.ok() && *count == listeners_->work().ops() + tokens_.size()) return "";
  const absl::StatusOr<std::vector<Op>> ops = capture_stream_.CapturedOps();
  if (!ops.ok()) return "";
  std::vector<bool> awaited(ops->size(), false);
  for (const Op& op : *ops) {
    for (const Edge& edge : op.dependencies) awaited[edge.from] = true;
  }
  std::string ends;
  for (const Op& op : *ops) {
    if (awaited[op.id]) continue;
    absl::StrAppend(&ends, ends.empty() ? "" : ", ", "op ", op.id, " ('", op.name, "')");
  }
  return ends;
}

absl::Status BodyCapture::Cut(BreakRequest request) {
  Node* node = draft_.node.get();
  if (!call_.launches) {
    return absl::FailedPreconditionError(
        absl::StrCat("the part of break '", request.why,
                     "' needs what was launched before it, and nothing was to be launched"));
  }
  if (draft_.is_rehearsal()) {
    return absl::FailedPreconditionError(
        absl::StrCat("break '", request.why,
                     "' comes in a recording that is only compared, and did not in the "
                     "runs before"));
  }
  // Checked before the section is launched, so that an eager run does nothing twice.
  if (allocator_.spilled() && !IsPlanted(PlantedBug::kForgetsSpilled)) {
    draft_.FailForMemory();
    return draft_.status;
  }
  const std::string ends = OpenEnds();
  if (absl::Status ended = EndSection(absl::OkStatus()); !ended.ok()) {
    if (ErrorCodeOf(ended) != ErrorCode::kCaptureUnjoined) return ended;
    return Located(ended, absl::StrCat("break '", request.why,
                                       "' comes inside a fork that is not "
                                       "joined before it",
                                       ends.empty() ? "" : "; its work ends in ", ends));
  }
  if (!FinishGraph()) return draft_.status;
  graphtree::Cut cut;
  // The bytes are saved after all of the tree's work so far.
  GRAPHTREE_RETURN_IF_ERROR(ContinueOnCallers());
  GRAPHTREE_RETURN_IF_ERROR(writes_.SaveOfSection(&cut.spoilt));
  // From here on work has effects, and a failure is the call's own error.
  draft_.is_final = true;
  needs_.ground.memory->TellOwners(listeners_->holds().held(), call_.stream);
  GRAPHTREE_RETURN_IF_ERROR(LaunchEndedSection());
  // The memory so far has bytes that later sections read, though the books may show it as free:
  // nobody else may get it before they are launched.
  for (const AddressRange range : allocator_.Used())
    needs_.ground.memory->pool().watchers().Shield(range);
  ++needs_.journal.stats().eager_parts;
  absl::Status ran = needs_.journal.Told(Phase::kPart, call_.function, [&] {
    return parts_.Run(&request, InputsOfOthers(*needs_.ground.memory, originals_));
  });
  ran.Update(Located(EndStrayCapture(call_.stream),
                     absl::StrCat("the part of break '", request.why, "'")));
  needs_.ground.memory->TellOwners(listeners_->holds().held(), call_.stream);
  asked_by_parts_.AddOfPart(parts_.TakeRequests());
  GRAPHTREE_RETURN_IF_ERROR(ran);
  draft_.is_final = false;
  cut.part = std::move(request);
  node->cuts.push_back(std::move(cut));
  return BeginSection();
}

// Work that is put on the caller's stream next runs after all work that the sections so far must
// wait for.
absl::Status BodyCapture::ContinueOnCallers() {
  GRAPHTREE_RETURN_IF_ERROR(needs_.ground.ContinueOn(call_.stream));
  for (const std::shared_ptr<StreamLife>& earlier : scope_.Awaited()) {
    GRAPHTREE_RETURN_IF_ERROR(needs_.ground.order.WaitFor(*earlier, call_.stream));
  }
  return absl::OkStatus();
}

// Launches the section that ended last. Its executable is new: it has this call's own addresses.
absl::Status BodyCapture::LaunchEndedSection() {
  Node* node = draft_.node.get();
  Section* section = &node->last();
  if (!node->cuts.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(CheckEnded(*needs_.ground.memory, call_.function, originals_,
                                         section->graph.get()));
  }
  // The parts before and after it work on the stream all the same.
  if (section->executable == nullptr) return needs_.ground.NoteWorkOn(call_.stream);
  return needs_.launcher.LaunchFresh(*node, section_number(), section, originals_, &taken_,
                                     call_.stream);
}

// In this first run kept outputs lie where they were recorded: earlier sections could not know that
// they are kept. They are copied to their places after the last section. As such a copy can fail
// after the launch, what the last section writes is saved, too.
absl::Status BodyCapture::LaunchLast() {
  Node* node = draft_.node.get();
  std::vector<size_t> to_copy;
  for (size_t i = 0; i < node->kept.size(); ++i) {
    if (!node->places[i].is_none()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(node->places[i],
                               needs_.kept.New(call_.function, node->kept[i].bytes, call_.stream));
    to_copy.push_back(i);
  }
  std::vector<SpoiltBytes> of_this_run;
  if (!to_copy.empty()) GRAPHTREE_RETURN_IF_ERROR(writes_.SaveOfSection(&of_this_run));
  GRAPHTREE_RETURN_IF_ERROR(LaunchEndedSection());
  for (const size_t i : to_copy) {
    const AddressRange block = node->kept[i].block;
    GRAPHTREE_RETURN_IF_ERROR(call_.stream.Copy(node->places[i].word(), block.base, block.bytes));
  }
  return absl::OkStatus();
}

absl::Status BodyCapture::UndoEffects() {
  // Sections may have been launched, and what they use stays until they are over.
  if (listeners_ != nullptr) HoldUsed();
  taken_.GiveBack();
  // Work of parts may be under way, and needs these objects: those of the node, too, which Finish
  // may have gathered there.
  Graveyard& graveyard = needs_.functions.keeper().graveyard();
  graveyard.Add(std::exchange(asked_by_parts_.keep_alive, {}));
  graveyard.Add(std::exchange(draft_.node->keep_alive, {}));
  const absl::Status undone = writes_.Restore();
  needs_.ground.memory->TellOwners(draft_.node->held, call_.stream);
  // Sections may still run. Memory that the parts hold is freed now, while the books know of it.
  for (graphtree::Cut& cut : draft_.node->cuts) cut.part.run = nullptr;
  ForgetPlaces(draft_.node.get());
  needs_.journal.SayDestroyed(*draft_.node);
  if (draft_.node->executables() > 0) graveyard.Add(std::move(draft_.node));
  return Located(undone, "what the call had written before it failed could not be taken back");
}

}  // namespace graphtree
