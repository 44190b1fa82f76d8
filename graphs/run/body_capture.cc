// Capturing, cutting, and taking back.
#include "graphs/run/body_capture.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "graphs/inputs/pointer_slots.h"
#include "graphs/run/located.h"
#include "graphs/run/planted_bug.h"
#include "graphs/run/recorded_inputs.h"
#include "graphs/run/recorded_outputs.h"

namespace graphtree {
namespace {

// As many generators as any section draws from.
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
      side_(*needs.ground.side),
      allocator_(needs.ground.MemoryFor(call.function, Region::kStep)),
      words_(MostGenerators(*call.variant)),
      random_([this] { return words_.Next(); }),
      spoilt_(needs.ground.memory->pool().arena().range_of(Region::kStep),
              needs.ground.memory->pool().arena().range_of(Region::kKept)),
      undo_(needs.ground.memory.get(), call.stream, needs.ground.TagOf(call.function)),
      parts_(call.stream, needs.ground.MemoryFor(call.function, Region::kKept),
             &needs.ground.workspaces, &taken_,
             [this](const Tensor& tensor, bool beside) { SaveOfPart(tensor, beside); }) {
  draft_.rehearsal = rehearsal;
}

void BodyCapture::StartNode(InputPlan plan) {
  draft_.plan = std::move(plan);
  draft_.node = std::make_unique<Node>();
  Node* node = draft_.node.get();
  node->parent = needs_.books.path().current();
  node->level = needs_.books.path().next_level();
  node->variant = call_.variant;
  node->id = needs_.journal.stats().recordings;  // it will be, if all goes well
  std::vector<OutputRef> live;
  for (const HeldOutput& held : needs_.books.path().Held()) {
    live.push_back(held.output);
    spoilt_.Show(held.storage->range());
  }
  node->live_before = LiveSet(std::move(live));
}

// What the call brought may be written to, by whatever lies there behind it, and must come back.
void BodyCapture::ShowInputs() {
  for (uint32_t i = 0; i < originals_.size(); ++i) {
    const InputRole role = draft_.node->roles[i];
    if (!originals_[i].is_tensor() || role == InputRole::kCopied) continue;
    spoilt_.Show(RangeOf(originals_[i]));
  }
}

// What is at its address in every call that the recording serves.
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

void BodyCapture::Run(InputPlan plan, Values to_body) {
  StartNode(std::move(plan));
  draft_.status = words_.Allocate(&allocator_, side_);
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
  log_ = std::make_unique<PointerLog>(side_, inputs, draft_.marked, follows);
  ops_ = std::make_unique<OpLog>(log_.get(), &needs_.ground.history->stacks());
  const bool checked = needs_.checks.Applies(call_.function);
  AccessObserver* const observer = checked ? static_cast<AccessObserver*>(ops_.get()) : log_.get();
  hold_log_ = std::make_unique<HoldLog>(observer, *needs_.ground.memory, Pinned(),
                                        [this](absl::Status why) { on_->Fail(std::move(why)); });
  write_log_ = std::make_unique<WriteLog>(hold_log_.get(),
                                          [this](const Tensor& tensor) { NoteWrite(tensor); });
  work_log_ = std::make_unique<WorkLog>(write_log_.get());
  Launcher on(side_, allocator_, work_log_.get(), &random_);
  on.SetCutter(this);
  on_ = &on;
  Capture(&on, &inputs);
  if (draft_.status.ok()) return Finish(&on);
  // Work before a break may be under way.
  needs_.functions.keeper().graveyard().Add(std::exchange(on.requests().keep_alive, {}));
}

// A write to the copy of an input would be lost, and a write to the input itself, which the body
// knows from elsewhere, would come behind the copy. Where no run before this one has shown it, the
// recording is made again with what it showed.
void BodyCapture::NoteWrite(const Tensor& tensor) {
  const AddressRange range = tensor.raw_bytes();
  const uint64_t serial = tensor.storage() == nullptr ? 0 : tensor.storage()->serial;
  writes_.push_back(range);
  bool is_input = false;  // one whose writes the node lists already
  for (uint32_t i = 0; i < draft_.stand_ins.size(); ++i) {
    const bool to_stand_in = serial != 0 && draft_.stand_ins[i] == serial;
    const bool mutates = call_.variant->Mutates(i);
    is_input |= to_stand_in || (mutates && draft_.node->roles[i] == InputRole::kStatic &&
                                RangeOf(originals_[i]).Contains(range));
    if (draft_.node->roles[i] != InputRole::kCopied || mutates) continue;
    if (to_stand_in || RangeOf(originals_[i]).Overlaps(range)) draft_.written.push_back(i);
  }
  if (is_input || needs_.ground.memory->InStepRegion(range)) return;
  draft_.node->written_beside.Add(range);
}

void BodyCapture::Capture(Launcher* on, Values* inputs) {
  draft_.status = BeginSection();
  if (!draft_.status.ok() && !capturing_) return;
  on->Fail(draft_.status);
  allocator_.set_make_room([this] { given_.BuryDead(); });
  draft_.outputs = needs_.body.Run(call_.function, *on, *inputs);
  inputs->clear();
  given_.BuryDead();  // before anything looks at what is held, and forgets it
  if (on->ok()) {
    const absl::Status kept = needs_.kept.Capture(originals_, &draft_);
    draft_.is_final |= absl::IsInvalidArgument(kept);
    on->Fail(kept);
  }
  absl::Status ended = capturing_ ? EndSection(on->status()) : on->status();
  draft_.status = Located(ended, on->Place());
  if (draft_.status.ok()) return;
  if (draft_.is_final) {
    draft_.status =
        needs_.checks.WithStacks(BodyFailure(call_.function, *on), call_, ops_->sites());
  } else if (draft_.reason == Reason::kRecordFailed) {
    draft_.reason = allocator_.spilled() ? Reason::kOutOfPool : ReasonOf(draft_.status);
  }
  if (draft_.is_rehearsal()) draft_.hidden = SoughtInputs(draft_.plan);
}

void BodyCapture::KeepRehearsal() {
  draft_.rehearsal->Keep(std::move(draft_.node->section.graph));
  draft_.status = absl::CancelledError("recorded only to be compared");
  // Of an empty recording there is nothing to learn.
  if (draft_.is_rehearsal()) draft_.hidden = SoughtInputs(draft_.plan);
}

void BodyCapture::Finish(Launcher* on) {
  on->requests().AddOfPart(std::move(asked_by_parts_));
  if (!TakeRequests(&on->requests())) {
    // Parts have run, and their work needs these.
    needs_.functions.keeper().graveyard().Add(std::exchange(on->requests().keep_alive, {}));
    return;
  }
  if (draft_.is_rehearsal()) return KeepRehearsal();
  if (!HasAllWork()) return;
  HoldUsed();
  if (!draft_.written.empty()) {
    draft_.status = absl::AbortedError(
        absl::StrCat("it writes to input ", draft_.written[0], " for the first time"));
    return;
  }
  if (needs_.checks.Applies(call_.function))
    needs_.checks.NoteOutside(*ops_, draft_.marked, draft_.node.get());
  draft_.status = FindInputOps(originals_, log_.get(), &draft_);
  if (draft_.status.ok()) draft_.status = KeptOutputs::FindCopies(&draft_);
  if (!draft_.status.ok() ||
      !ClassifyOutputs(*needs_.ground.memory, needs_.books.path(), originals_, allocator_, &draft_))
    return;
  KeptOutputs::NoteInputs(draft_.node.get());
  draft_.node->used = allocator_.Used();
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
  draft_.node->workspaces = std::move(requests->workspaces);
  if (IsPlanted(PlantedBug::kForgetsKeepAlive)) requests->keep_alive.clear();
  draft_.node->keep_alive = std::move(requests->keep_alive);
  return true;
}

// Whether the recording's body allocated it.
bool BodyCapture::IsMade(const Storage* storage) const {
  return storage != nullptr && storage->state() == StorageState::kOwning &&
         needs_.ground.memory->InStepRegion(storage->range()) &&
         !needs_.books.path().Holds(*storage) &&
         !absl::c_linear_search(draft_.stand_ins, storage->serial);
}

// Whether an argument of an op holds an address of it, though no launch says so.
bool BodyCapture::IsNamed(AddressRange memory) const {
  bool is_named = false;
  draft_.node->VisitSections([&](const Section& section) {
    if (section.graph == nullptr || is_named) return;
    is_named = !HiddenPointers(section.graph->ops(), {}, {}, {{0, memory}}).empty();
    section.graph->ForgetOps();
  });
  return is_named;
}

// What the body put elsewhere has run there, on the call's own inputs where it was given those. An
// eager run would do that twice, so the call fails then.
bool BodyCapture::HasAllWork() {
  Variant& variant = *call_.variant;
  if (call_.function.options.unseen_writes) return true;
  if (IsPlanted(PlantedBug::kForgetsElsewhere)) return true;
  std::vector<Returned> returned;
  for (uint32_t i = 0; i < draft_.outputs.size(); ++i) {
    if (!IsMade(draft_.outputs[i].storage())) continue;
    const Value& output = draft_.outputs[i];
    returned.push_back({i, {output.storage()->serial, RangeOf(output)}});
  }
  const std::optional<MissingWork> missing = work_log_->Missing(returned);
  if (!missing.has_value() || IsNamed(missing->memory)) return true;
  variant.works_elsewhere = ToString(*missing);
  draft_.status = absl::FailedPreconditionError(variant.works_elsewhere);
  draft_.reason = Reason::kWorksElsewhere;
  // What the launcher captured has not run, and what the body made is made again. Only memory of
  // others that opaque work is said to write may be written already.
  const bool said_of_others = missing->kind == MissingWork::Kind::kSaid &&
                              !needs_.ground.memory->InStepRegion(missing->memory);
  if (!said_of_others) return false;
  draft_.is_final = true;
  draft_.status = absl::FailedPreconditionError(
      absl::StrCat("'", call_.function.name, "' cannot be recorded: ", variant.works_elsewhere,
                   ". What it wrote in this call is written; later calls run eagerly"));
  return false;
}

void BodyCapture::HoldUsed() {
  Values used = hold_log_->Take();
  if (used.empty() || IsPlanted(PlantedBug::kForgetsUsed)) return;
  draft_.node->held = std::move(used);
  draft_.node->stores = true;
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
  GRAPHTREE_RETURN_IF_ERROR(side_.BeginCapture(CaptureMode::kThreadLocal));
  capturing_ = true;
  if (needs_.journal.is_watched()) {
    needs_.journal.Say(GraphMoment::kCaptureBegin, *node, section_number(), &side_);
  }
  tokens_.clear();
  return LaunchIngest(*section, side_, &tokens_);
}

absl::Status BodyCapture::EndSection(const absl::Status& body) {
  Node* node = draft_.node.get();
  Section* section = &node->last();
  capturing_ = false;
  absl::StatusOr<std::unique_ptr<Graph>> graph = side_.EndCapture();
  const absl::Status status = body.ok() ? graph.status() : body;
  if (needs_.journal.is_watched()) {
    needs_.journal.Say(GraphMoment::kCaptureEnd, *node, section_number(), &side_, status.ok());
  }
  GRAPHTREE_RETURN_IF_ERROR(status);
  section->graph = *std::move(graph);
  work_log_->EndSection(section->op_count(), tokens_.size() + draft_.copies_out.size());
  for (const RandomUse& use : random_.TakeUses()) section->random.push_back({use, {}});
  for (size_t i = 0; i < tokens_.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(section->ingest[i].op, section->graph->Find(tokens_[i]));
  }
  return log_->EndSection(*section->graph);
}

// A graph of nothing needs no executable: a hit then makes no device call.
bool BodyCapture::FinishGraph() {
  Node* node = draft_.node.get();
  Section* last = &node->last();
  if (last->graph->op_count() == 0) {
    last->graph = nullptr;
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

// The names of the ops of the open capture that no other op waits for.
std::string BodyCapture::OpenEnds() {
  const absl::StatusOr<std::vector<Op>> ops = side_.CapturedOps();
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
  if (draft_.is_rehearsal()) {
    return absl::FailedPreconditionError(
        absl::StrCat("break '", request.why,
                     "' comes in a recording that is only compared, and did not in the "
                     "runs before"));
  }
  // Nothing has run yet, so the eager run does nothing twice.
  if (allocator_.spilled() && !IsPlanted(PlantedBug::kForgetsSpilled)) {
    draft_.FailForMemory();
    return draft_.status;
  }
  const std::string ends = OpenEnds();
  if (absl::Status ended = EndSection(absl::OkStatus()); !ended.ok()) {
    if (ErrorCodeOf(ended) != ErrorCode::kCaptureUnjoined) return ended;
    return Located(ended, absl::StrCat("break '", request.why,
                                       "' comes inside a fork that is not "
                                       "joined before it; its work ends in ",
                                       ends));
  }
  if (!FinishGraph()) return draft_.status;
  graphtree::Cut cut;
  // What is saved is what the tree's work so far has made of it.
  GRAPHTREE_RETURN_IF_ERROR(ContinueOnCallers());
  GRAPHTREE_RETURN_IF_ERROR(SaveSpoilt(&cut));
  // From here on there are effects, and a failure is the call's own.
  draft_.is_final = true;
  GRAPHTREE_RETURN_IF_ERROR(LaunchSection());
  // What the next section reads is there already, though the books may give its place to others
  // before that section is launched.
  for (const AddressRange range : allocator_.Used())
    needs_.ground.memory->pool().watchers().Shield(range);
  ++needs_.journal.stats().eager_parts;
  const absl::Status ran = parts_.Run(request);
  asked_by_parts_.AddOfPart(parts_.TakeRequests());
  GRAPHTREE_RETURN_IF_ERROR(ran);
  draft_.is_final = false;
  cut.part = std::move(request);
  node->cuts.push_back(std::move(cut));
  return BeginSection();
}

// Of a patched input, where it is then; else the address.
SpoiltBytes BodyCapture::SpoiltAt(AddressRange range) const {
  for (const MarkedInput& marked : draft_.marked) {
    if (!marked.mark.raw_bytes().Contains(range)) continue;
    return {{marked.input, range.base - marked.mark.word()}, range.bytes};
  }
  return {{kNobody, range.base}, range.bytes};
}

absl::Status BodyCapture::SaveSpoilt(graphtree::Cut* cut) {
  std::vector<AddressRange> writes = std::exchange(writes_, {});
  const Variant& variant = *draft_.node->variant;
  for (size_t input = 0; input < originals_.size(); ++input) {
    if (!variant.mutates_somewhere[input] || !originals_[input].is_tensor()) continue;
    if (draft_.node->roles[input] == InputRole::kCopied) continue;
    writes.push_back(RangeOf(originals_[input]));
  }
  for (const AddressRange write : writes) {
    for (const AddressRange range : spoilt_.Written(write)) {
      cut->spoilt.push_back(SpoiltAt(range));
      if (absl::Status saved = undo_.Save(range); !saved.ok()) {
        draft_.reason = absl::IsResourceExhausted(saved) ? Reason::kOutOfPool : ReasonOf(saved);
        return saved;
      }
    }
  }
  return absl::OkStatus();
}

// What a part writes through its break is the body's own write, and noted. Beside that a part knows
// of an input only where the caller has it.
void BodyCapture::NoteWriteOfPart(AddressRange range) {
  for (uint32_t i = 0; i < originals_.size(); ++i) {
    if (draft_.node->roles[i] != InputRole::kCopied || call_.variant->Mutates(i)) continue;
    if (RangeOf(originals_[i]).Overlaps(range)) draft_.written.push_back(i);
  }
  if (!needs_.ground.memory->InStepRegion(range)) draft_.node->written_beside.Add(range);
}

void BodyCapture::SaveOfPart(const Tensor& tensor, bool beside) {
  if (beside) NoteWriteOfPart(tensor.raw_bytes());
  if (IsPlanted(PlantedBug::kForgetsPartWrites)) return;
  undo_.TrySaveWrites(call_.stream, tensor, &spoilt_);
}

// What comes next on the caller's stream runs after all that the sections so far must wait for.
absl::Status BodyCapture::ContinueOnCallers() {
  GRAPHTREE_RETURN_IF_ERROR(needs_.ground.order.ContinueOn(call_.stream));
  for (const std::shared_ptr<StreamLife>& earlier : scope_.Awaited()) {
    GRAPHTREE_RETURN_IF_ERROR(needs_.ground.order.WaitFor(*earlier, call_.stream));
  }
  return absl::OkStatus();
}

// The one that ended last. Its executable is fresh: it has this call's own addresses.
absl::Status BodyCapture::LaunchSection() {
  Node* node = draft_.node.get();
  Section* section = &node->last();
  if (section->executable == nullptr) return absl::OkStatus();
  return needs_.launcher.LaunchFresh(*node, section_number(), section, originals_, &taken_,
                                     call_.stream);
}

// Outputs that are kept were made where they were recorded, as the sections before could not know
// of it. They are copied out behind the last section, which is therefore not sure to be the last
// thing that can fail.
absl::Status BodyCapture::LaunchLast() {
  Node* node = draft_.node.get();
  std::vector<size_t> to_copy;
  for (size_t i = 0; i < node->kept.size(); ++i) {
    if (!node->places[i].is_none()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(node->places[i],
                               needs_.kept.New(call_.function, node->kept[i].bytes, call_.stream));
    to_copy.push_back(i);
  }
  graphtree::Cut unused;
  if (!to_copy.empty()) GRAPHTREE_RETURN_IF_ERROR(SaveSpoilt(&unused));
  GRAPHTREE_RETURN_IF_ERROR(LaunchSection());
  for (const size_t i : to_copy) {
    const AddressRange block = node->kept[i].block;
    GRAPHTREE_RETURN_IF_ERROR(call_.stream.Copy(node->places[i].word(), block.base, block.bytes));
  }
  return absl::OkStatus();
}

absl::Status BodyCapture::TakeBack() {
  taken_.GiveBack();
  needs_.functions.keeper().graveyard().Add(std::exchange(asked_by_parts_.keep_alive, {}));
  const absl::Status undone = undo_.Restore();
  // Sections may still run; what the parts hold goes now, while the books know of it.
  for (graphtree::Cut& cut : draft_.node->cuts) cut.part.run = nullptr;
  ForgetPlaces(draft_.node.get());
  needs_.journal.SayDestroyed(*draft_.node);
  if (draft_.node->executables() > 0)
    needs_.functions.keeper().graveyard().Add(std::move(draft_.node));
  return Located(undone, "what the call had written before it failed could not be taken back");
}

}  // namespace graphtree
