// Capturing, cutting, and taking back.
#include "graphs/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "graphs/planted_bug.h"
#include "graphs/pointer_slots.h"

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

TreeCore::Recorder::Recorder(TreeCore& tree, Call& call, const Values& originals,
                             GivenInputs& given, CaptureScope& scope, Rehearsal* rehearsal)
    : tree_(tree),
      call_(call),
      originals_(originals),
      given_(given),
      scope_(scope),
      side_(*tree.side_),
      allocator_(tree.MemoryFor(call.function, Region::kStep)),
      words_(MostGenerators(*call.variant)),
      random_([this] { return words_.Next(); }),
      spoilt_(tree.memory_->pool().arena().range_of(Region::kStep),
              tree.memory_->pool().arena().range_of(Region::kKept)),
      undo_(tree.memory_.get(), call.stream, tree.TagOf(call.function)),
      parts_(call.stream, tree.MemoryFor(call.function, Region::kKept), &tree.workspaces_, &taken_,
             [this](const Tensor& tensor) { SaveOfPart(tensor); }) {
  draft_.rehearsal = rehearsal;
}

void TreeCore::Recorder::StartNode(InputPlan plan) {
  draft_.plan = std::move(plan);
  draft_.node = std::make_unique<Node>();
  Node* node = draft_.node.get();
  node->parent = tree_.path_.current();
  node->level = tree_.path_.next_level();
  node->variant = call_.variant;
  node->id = tree_.stats_.recordings;  // it will be, if all goes well
  std::vector<OutputRef> live;
  for (const HeldOutput& held : tree_.path_.Held()) {
    live.push_back(held.output);
    spoilt_.Show(held.storage->range());
  }
  node->live_before = LiveSet(std::move(live));
}

// What the call brought may be written to, by whatever lies there behind it, and must come back.
void TreeCore::Recorder::ShowInputs() {
  for (uint32_t i = 0; i < originals_.size(); ++i) {
    const InputRole role = draft_.node->roles[i];
    if (!originals_[i].is_tensor() || role == InputRole::kCopied) continue;
    spoilt_.Show(RangeOf(originals_[i]));
  }
}

void TreeCore::Recorder::Run(InputPlan plan, Values to_body) {
  StartNode(std::move(plan));
  draft_.status = words_.Allocate(&allocator_, side_);
  if (!draft_.status.ok()) {
    draft_.reason = Reason::kOutOfPool;
    return;
  }
  Values inputs = tree_.PrepareInputs(originals_, std::move(to_body),
                                      words_.Scalars(GeneratorsOf(0)), &draft_, &allocator_);
  for (uint32_t i = 0; i < draft_.stand_ins.size(); ++i) {
    if (draft_.node->roles[i] == InputRole::kManaged) draft_.stand_ins[i] = given_.SerialOf(i);
  }
  if (!draft_.status.ok()) return;
  ShowInputs();
  const bool follows = !call_.function.options.kept_outputs.empty() &&
                       !call_.variant->keeps_by_copy;
  log_ = std::make_unique<PointerLog>(side_, inputs, draft_.marked, follows);
  ops_ = std::make_unique<OpLog>(log_.get(), &tree_.history_->stacks());
  const bool checked = tree_.IsChecked(call_.function);
  AccessObserver* const observer = checked ? static_cast<AccessObserver*>(ops_.get()) : log_.get();
  hold_log_ = std::make_unique<HoldLog>(observer, *tree_.memory_, originals_);
  write_log_ = std::make_unique<WriteLog>(
      hold_log_.get(), [this](const Tensor& tensor) { NoteWrite(tensor); });
  work_log_ = std::make_unique<WorkLog>(write_log_.get());
  Launcher on(side_, allocator_, work_log_.get(), &random_);
  on.SetCutter(this);
  Capture(&on, &inputs);
  if (draft_.status.ok()) return Finish(&on);
  // Work before a break may be under way.
  tree_.keeper_.graveyard().Add(std::exchange(on.requests().keep_alive, {}));
}

// A write to the copy of an input would be lost, and a write to the input itself, which the body
// knows from elsewhere, would come behind the copy. Where no run before this one has shown it, the
// recording is made again with what it showed.
void TreeCore::Recorder::NoteWrite(const Tensor& tensor) {
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
  if (is_input || tree_.memory_->InStepRegion(range)) return;
  draft_.node->written_beside.Add(range);
}

void TreeCore::Recorder::Capture(Launcher* on, Values* inputs) {
  draft_.status = BeginSection();
  if (!draft_.status.ok() && !capturing_) return;
  on->Fail(draft_.status);
  allocator_.set_make_room([this] { given_.BuryDead(); });
  draft_.outputs = tree_.RunBody(call_.function, *on, *inputs);
  inputs->clear();
  given_.BuryDead();  // before anything looks at what is held, and forgets it
  if (on->ok()) on->Fail(tree_.CaptureEgress(originals_, &draft_));
  absl::Status ended = capturing_ ? EndSection(on->status()) : on->status();
  draft_.status = Placed(ended, on->Place());
  if (draft_.status.ok()) return;
  if (draft_.is_final) {
    draft_.status = tree_.WithStacks(BodyStatus(call_.function, *on), call_, ops_->sites());
  } else if (draft_.reason == Reason::kRecordFailed) {
    draft_.reason = ReasonOf(draft_.status);
  }
  if (is_rehearsal()) draft_.hidden = SoughtInputs(draft_.plan);
}

void TreeCore::Recorder::KeepRehearsal() {
  draft_.rehearsal->Keep(std::move(draft_.node->section.graph));
  draft_.status = absl::CancelledError("recorded only to be compared");
  // Of an empty recording there is nothing to learn.
  if (is_rehearsal()) draft_.hidden = SoughtInputs(draft_.plan);
}

void TreeCore::Recorder::Finish(Launcher* on) {
  on->requests().AddOfPart(std::move(asked_by_parts_));
  if (!tree_.TakeRequests(call_, &on->requests(), &draft_)) {
    // Parts have run, and their work needs these.
    tree_.keeper_.graveyard().Add(std::exchange(on->requests().keep_alive, {}));
    return;
  }
  if (is_rehearsal()) return KeepRehearsal();
  if (!HasAllWork()) return;
  HoldUsed();
  if (!draft_.written.empty()) {
    draft_.status = absl::AbortedError(
        absl::StrCat("it writes to input ", draft_.written[0], " for the first time"));
    return;
  }
  if (tree_.IsChecked(call_.function)) tree_.NoteOutside(*ops_, &draft_);
  draft_.status = tree_.FindInputOps(originals_, log_.get(), &draft_);
  if (draft_.status.ok()) draft_.status = FindEgressOps(&draft_);
  if (!draft_.status.ok() || !tree_.Classify(originals_, allocator_, &draft_)) return;
  draft_.node->used = allocator_.Used();
  tree_.FinishGraph(&draft_);
}

// Whether the recording's body allocated it.
bool TreeCore::Recorder::IsMade(const Storage* storage) const {
  return storage != nullptr && storage->state() == StorageState::kOwning &&
         tree_.memory_->InStepRegion(storage->range()) && !tree_.path_.Holds(*storage) &&
         !absl::c_linear_search(draft_.stand_ins, storage->serial);
}

// Whether an argument of an op holds an address of it, though no launch says so.
bool TreeCore::Recorder::IsNamed(AddressRange memory) const {
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
bool TreeCore::Recorder::HasAllWork() {
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
                              !tree_.memory_->InStepRegion(missing->memory);
  if (!said_of_others) return false;
  draft_.is_final = true;
  draft_.status = absl::FailedPreconditionError(absl::StrCat(
      "'", call_.function.name, "' cannot be recorded: ", variant.works_elsewhere,
      ". What it wrote in this call is written; later calls run eagerly"));
  return false;
}

void TreeCore::Recorder::HoldUsed() {
  Values used = hold_log_->Take();
  if (used.empty() || IsPlanted(PlantedBug::kForgetsUsed)) return;
  draft_.node->keep_alive.push_back(std::make_shared<Values>(std::move(used)));
  draft_.node->stores = true;
}

size_t TreeCore::Recorder::GeneratorsOf(size_t section) const {
  const std::vector<size_t>& generators = call_.variant->generators;
  return section < generators.size() ? generators[section] : 0;
}

absl::Status TreeCore::Recorder::BeginSection() {
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
  if (tree_.observers_.any()) {
    tree_.TellObservers(GraphMoment::kCaptureBegin, *node, section_number(), &side_);
  }
  tokens_.clear();
  return tree_.LaunchIngest(*section, &tokens_);
}

absl::Status TreeCore::Recorder::EndSection(const absl::Status& body) {
  Node* node = draft_.node.get();
  Section* section = &node->last();
  capturing_ = false;
  absl::StatusOr<std::unique_ptr<Graph>> graph = side_.EndCapture();
  const absl::Status status = body.ok() ? graph.status() : body;
  if (tree_.observers_.any()) {
    tree_.TellObservers(GraphMoment::kCaptureEnd, *node, section_number(), &side_, status.ok());
  }
  GRAPHTREE_RETURN_IF_ERROR(status);
  section->graph = *std::move(graph);
  work_log_->EndSection(section->op_count(), tokens_.size() + draft_.egress.size());
  for (const RandomUse& use : random_.TakeUses()) section->random.push_back({use, {}});
  for (size_t i = 0; i < tokens_.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(section->ingest[i].op, section->graph->Find(tokens_[i]));
  }
  return log_->EndSection(*section->graph);
}

// The names of the ops of the open capture that no other op waits for.
std::string TreeCore::Recorder::OpenEnds() {
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

absl::Status TreeCore::Recorder::Cut(BreakRequest request) {
  Node* node = draft_.node.get();
  if (is_rehearsal()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "break '", request.why, "' comes in a recording that is only compared, and did not in the "
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
    return Placed(ended, absl::StrCat("break '", request.why, "' comes inside a fork that is not "
                                      "joined before it; its work ends in ", ends));
  }
  if (!tree_.FinishGraph(&draft_)) return draft_.status;
  graphtree::Cut cut;
  // What is saved is what the tree's work so far has made of it.
  GRAPHTREE_RETURN_IF_ERROR(ContinueOnCallers());
  GRAPHTREE_RETURN_IF_ERROR(SaveSpoilt(&cut));
  // From here on there are effects, and a failure is the call's own.
  draft_.is_final = true;
  GRAPHTREE_RETURN_IF_ERROR(LaunchSection());
  // What the next section reads is there already, though the books may give its place to others
  // before that section is launched.
  for (const AddressRange range : allocator_.Used()) tree_.memory_->pool().watchers().Shield(range);
  ++tree_.stats_.eager_parts;
  const absl::Status ran = parts_.Run(request);
  asked_by_parts_.AddOfPart(parts_.TakeRequests());
  GRAPHTREE_RETURN_IF_ERROR(ran);
  draft_.is_final = false;
  cut.part = std::move(request);
  node->cuts.push_back(std::move(cut));
  return BeginSection();
}

// Of a patched input, where it is then; else the address.
SpoiltBytes TreeCore::Recorder::SpoiltAt(AddressRange range) const {
  for (const MarkedInput& marked : draft_.marked) {
    if (!marked.mark.raw_bytes().Contains(range)) continue;
    return {{marked.input, range.base - marked.mark.word()}, range.bytes};
  }
  return {{kNobody, range.base}, range.bytes};
}

absl::Status TreeCore::Recorder::SaveSpoilt(graphtree::Cut* cut) {
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
        draft_.reason = ReasonOf(saved);
        return saved;
      }
    }
  }
  return absl::OkStatus();
}

void TreeCore::Recorder::SaveOfPart(const Tensor& tensor) {
  if (IsPlanted(PlantedBug::kForgetsPartWrites)) return;
  undo_.TrySaveWrites(call_.stream, tensor, &spoilt_);
}

// What comes next on the caller's stream runs after all that the sections so far must wait for.
absl::Status TreeCore::Recorder::ContinueOnCallers() {
  GRAPHTREE_RETURN_IF_ERROR(tree_.order_.ContinueOn(call_.stream));
  for (const std::shared_ptr<StreamLife>& earlier : scope_.Awaited()) {
    GRAPHTREE_RETURN_IF_ERROR(tree_.order_.WaitFor(*earlier, call_.stream));
  }
  return absl::OkStatus();
}

// The one that ended last. Its executable is fresh: it has this call's own addresses.
absl::Status TreeCore::Recorder::LaunchSection() {
  Node* node = draft_.node.get();
  Section* section = &node->last();
  if (section->executable == nullptr) return absl::OkStatus();
  DrawRandom(section, &taken_);
  GRAPHTREE_RETURN_IF_ERROR(PatchIngest(section, originals_));
  return tree_.LaunchSection(*node, section_number(), *section, call_.stream);
}

// Outputs that are kept were made where they were recorded, as the sections before could not know
// of it. They are copied out behind the last section, which is therefore not sure to be the last
// thing that can fail.
absl::Status TreeCore::Recorder::LaunchLast() {
  Node* node = draft_.node.get();
  std::vector<size_t> to_copy;
  for (size_t i = 0; i < node->kept.size(); ++i) {
    if (!node->places[i].is_none()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(
        node->places[i],
        tree_.NewKept(call_.function, tree_.TagOf(call_.function), node->kept[i].bytes,
                      call_.stream));
    to_copy.push_back(i);
  }
  graphtree::Cut unused;
  if (!to_copy.empty()) GRAPHTREE_RETURN_IF_ERROR(SaveSpoilt(&unused));
  GRAPHTREE_RETURN_IF_ERROR(LaunchSection());
  for (const size_t i : to_copy) {
    const AddressRange block = node->kept[i].block;
    GRAPHTREE_RETURN_IF_ERROR(
        call_.stream.Copy(node->places[i].word(), block.base, block.bytes));
  }
  return absl::OkStatus();
}

absl::Status TreeCore::Recorder::TakeBack() {
  taken_.GiveBack();
  tree_.keeper_.graveyard().Add(std::exchange(asked_by_parts_.keep_alive, {}));
  const absl::Status undone = undo_.Restore();
  // Sections may still run; what the parts hold goes now, while the books know of it.
  for (graphtree::Cut& cut : draft_.node->cuts) cut.part.run = nullptr;
  ForgetPlaces(draft_.node.get());
  tree_.TellOfDestruction(*draft_.node);
  if (draft_.node->executables() > 0) tree_.keeper_.graveyard().Add(std::move(draft_.node));
  return Placed(undone, "what the call had written before it failed could not be taken back");
}

}  // namespace graphtree
