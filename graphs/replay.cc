// The hot path: no heap, no lock, one launch, and a patch if an input moved.
#include <optional>
#include <string>

#include "device/base/status_macros.h"
#include "graphs/planted_bug.h"
#include "graphs/tree_core.h"

namespace graphtree {

bool TreeCore::Matches(const Node& node, Call& call) {
  if (node.variant->function != &call.function || node.roles.size() != call.inputs.size()) {
    return false;
  }
  const Comparison comparison = node.inputs.Compare(call.inputs);
  if (!comparison.match) return false;
  call.brings_storage = comparison.any_storage;
  if (comparison.any_storage && !IsPlanted(PlantedBug::kLaunchesStale)) {
    for (const Value& input : call.inputs) {
      const Storage* storage = input.storage();
      if (storage == nullptr) continue;
      if (!IsPlanted(PlantedBug::kNoStaleChecks) && storage->stale()) return false;
      if (storage->IsElsewhere(place_.id)) return false;
    }
  }
  for (const KeptOpaque& kept : node.variant->opaque) {
    if (IsPlanted(PlantedBug::kMixesObjects)) continue;
    if (call.inputs[kept.input].object() != kept.value.object()) return false;
  }
  if (!node.workspaces.empty() && !workspaces_.AreCurrent(node.workspaces)) return false;
  const bool writes_to_others = !node.written.empty() || !node.written_beside.empty();
  if (writes_to_others && MovedOntoWritten(node, call.inputs)) return false;
  if (!node.inputs.anywhere().empty() && ComesFromElsewhere(node, call.inputs)) return false;
  if (IsPlanted(PlantedBug::kSkipsLiveness)) return true;
  return path_.Fits(node, call.inputs) == Path::Fit::kFits;
}

// Memory of the caller's own carries no name; where it must be what was recorded, it is ours.
bool TreeCore::ComesFromElsewhere(const Node& node, absl::Span<const Value> inputs) {
  home_pages_.ForgetIfAnyMoved();
  for (uint32_t i : node.inputs.anywhere()) {
    if (inputs[i].storage() != nullptr || home_pages_.Knows(inputs[i].word())) continue;
    if (!OtherHomeOf(inputs[i].word()).empty()) return true;
  }
  return false;
}

// Among many siblings: a hash over what the call pins, and no heap.
Node* TreeCore::FindByCall(Call& call) {
  if (Node* exact = FindExact(call)) return exact;
  GeneralNodes& general = path_.current()->general;
  if (general.empty()) return nullptr;
  return general.Find(
      call.function.id, call.inputs,
      [&](size_t i) { return memory_->RoleOf(call.inputs[i], call.function.IsStatic(i)); },
      [&] { return path_.HashOfAlive(); },
      [&](const Node& node) { return Matches(node, call); });
}

Node* TreeCore::FindExact(Call& call) {
  Node* parent = path_.current();
  PinHash hash;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    hash.Add(memory_->RoleOf(call.inputs[i], call.function.IsStatic(i)), call.inputs[i]);
  }
  const auto found = parent->by_call.find(hash.value() ^ call.function.id);
  if (found == parent->by_call.end()) return nullptr;
  return found->second.Find([&] { return path_.HashOfAlive(); },
                            [&](const Node& node) { return Matches(node, call); });
}

bool TreeCore::AnyMoved(const Node& node, absl::Span<const Value> inputs) {
  for (const IngestOp& ingest : node.section.ingest) {
    for (size_t copy = 0; copy < ingest.inputs.size(); ++copy) {
      if (ingest.plan.source(copy) != inputs[ingest.inputs[copy]].word()) return true;
    }
  }
  return node.section.pointers.Moved(inputs);
}

// Copying an input first and writing to another one then is right only while the two are apart, and
// what an op writes to must not be what another takes for an input of its own; those that stay are
// apart, or there would be no recording.
bool TreeCore::MovedOntoWritten(const Node& node, absl::Span<const Value> inputs) {
  if (!AnyMoved(node, inputs)) return false;
  for (size_t i = 0; i < inputs.size() && !node.written_beside.empty(); ++i) {
    if (node.roles[i] != InputRole::kCopied) continue;
    if (node.written_beside.Overlaps(RangeOf(inputs[i]))) return true;
  }
  for (uint32_t written : node.written) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i == written || !inputs[i].is_tensor()) continue;
      if (RangeOf(inputs[written]).Overlaps(RangeOf(inputs[i]))) return true;
    }
  }
  return false;
}

// Takes the run's random numbers, and writes where they start into the table.
void TreeCore::DrawRandom(Section* section, EagerRandom* taken) {
  for (size_t i = 0; i < section->random.size(); ++i) {
    NodeRandom& random = section->random[i];
    random.taken = taken != nullptr ? taken->Take(random.use.generator, random.use.increment)
                                    : random.use.generator->Take(random.use.increment);
    const uint64_t words[] = {random.taken.seed, random.taken.offset};
    for (size_t scalar = 2 * i; scalar < 2 * i + 2; ++scalar) {
      for (IngestOp& ingest : section->ingest) {
        const size_t place = scalar - ingest.plan.first_scalar();
        if (place < ingest.plan.scalars()) ingest.plan.SetScalar(place, words[scalar - 2 * i]);
      }
    }
  }
}

void TreeCore::GiveBackRandom(const Section& section) {
  for (const NodeRandom& random : section.random) random.use.generator->GiveBack(random.taken);
}

absl::Status TreeCore::LaunchNode(Node* node, absl::Span<const Value> inputs, Stream& stream) {
  Section& section = node->section;
  absl::Status status;
  if (!node->kept.empty()) status = PlaceKept(node, stream);
  if (status.ok()) {
    status = LaunchFor(node, 0, &section, inputs, nullptr, stream);
    if (status.ok()) return status;
    GiveBackRandom(section);
  }
  ForgetPlaces(node);
  return status;
}

absl::Status TreeCore::AwaitLaunched(Node* node, const Call& call) {
  const absl::Status status = AwaitChecked(call, node->sites, call.stream);
  if (status.ok()) return status;
  GiveBackRandom(node->section);
  ForgetPlaces(node);
  return status;
}

// Random numbers are taken from the generators themselves where `taken` is null.
absl::Status TreeCore::LaunchFor(Node* node, size_t number, Section* section,
                                 absl::Span<const Value> inputs, EagerRandom* taken,
                                 Stream& stream) {
  if (section->is_fixed()) return LaunchSection(*node, number, *section, stream);
  TakeTurn(section, inputs, node->places);
  DrawRandom(section, taken);
  GRAPHTREE_RETURN_IF_ERROR(PatchIngest(section, inputs));
  GRAPHTREE_RETURN_IF_ERROR(PatchEgress(section, node->places));
  const bool follows = !section->pointers.empty() && !IsPlanted(PlantedBug::kSkipsPointers);
  const bool moved = follows && section->pointers.Follow(inputs, node->places);
  if (moved) GRAPHTREE_RETURN_IF_ERROR(section->pointers.Patch(*section->executable));
  GRAPHTREE_RETURN_IF_ERROR(LaunchSection(*node, number, *section, stream));
  if (moved) ConsiderSpare(*node, number, section);
  return absl::OkStatus();
}

absl::Status TreeCore::NoteWorkOn(Stream& stream) {
  const absl::Status noted = memory_->pool().streams().NoteLaunch(stream);
  if (noted.ok()) return noted;
  // Foreign code on another thread may have been in the pool since before the call.
  foreign_->AwaitAllocations();
  return memory_->pool().streams().NoteLaunch(stream);
}

absl::Status TreeCore::LaunchSection(const Node& node, size_t number, const Section& section,
                                     Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(NoteWorkOn(stream));
  const bool watched = observers_.any();
  if (watched) TellObservers(GraphMoment::kReplayBegin, node, number, &stream);
  const absl::Status status = section.executable->Launch(stream);
  if (watched) TellObservers(GraphMoment::kReplayEnd, node, number, &stream, status.ok());
  return status;
}

absl::Status TreeCore::PatchIngest(Section* section, absl::Span<const Value> inputs) {
  for (IngestOp& ingest : section->ingest) {
    bool moved = !section->random.empty() && ingest.plan.scalars() > 0;
    for (size_t copy = 0; copy < ingest.inputs.size(); ++copy) {
      const Address source = inputs[ingest.inputs[copy]].word();
      if (ingest.plan.source(copy) == source || IsPlanted(PlantedBug::kSkipsPatch)) continue;
      ingest.plan.Retarget(copy, source);
      moved = true;
    }
    if (!moved && !ingest.unpatched) continue;
    // Until the patch is made the executable has the old table, whatever the plan says.
    ingest.unpatched = true;
    const Argument table = ingest.plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(section->executable->PatchKernel(
        ingest.op, ingest.plan.kernel(), ingest.plan.shape(), absl::MakeSpan(&table, 1)));
    ingest.unpatched = false;
  }
  return absl::OkStatus();
}

absl::Status TreeCore::Replay(Node* node, Call& call) {
  const bool checked = IsChecked(call.function);
  if (checked) {
    NoteCaller(&call);
    GRAPHTREE_RETURN_IF_ERROR(CheckInputsLive(call));
    GRAPHTREE_RETURN_IF_ERROR(CheckOutsideLive(*node, call));
  }
  if (owns_in_replay_) BackToViews();
  if (!node->cuts.empty()) return ReplayCut(node, call);
  if (node->section.executable == nullptr && node->section.graph != nullptr) {
    if (absl::Status back = BringBack(node); !back.ok()) {
      call.variant = node->variant;
      return RunEagerly(call, Reason::kOverBudget, std::string(back.message()));
    }
  }
  GRAPHTREE_RETURN_IF_ERROR(ReplaysOn(call.stream));
  std::optional<BodyDigest> body;
  if (checked) body = DigestBody(*node, call);
  if (tells_device_) TellOutputs(*node);
  if (node->section.executable != nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(LaunchNode(node, call.inputs, call.stream));
    if (checked) {
      const absl::Status done = AwaitLaunched(node, call);
      if (!done.ok()) LoseConsumed(*node, call);
      GRAPHTREE_RETURN_IF_ERROR(done);
    }
  } else if (!node->kept.empty()) {
    GRAPHTREE_RETURN_IF_ERROR(PlaceKept(node, call.stream));
  }
  Replayed(node, call);
  return body.has_value() ? CompareReplay(*body, call) : absl::OkStatus();
}

// It was launched, and where an input dies inside of it something else may lie by now.
void TreeCore::LoseConsumed(const Node& node, const Call& call) {
  for (const Consumed& consumed : node.consumed) {
    if (!consumed.moves) call.inputs[consumed.input] = Value::Consumed();
  }
}

// What is launched next comes after all of the tree's work so far.
absl::Status TreeCore::ReplaysOn(Stream& stream) {
  if (IsPlanted(PlantedBug::kForgetsStreamOrder)) return absl::OkStatus();
  if (IsPlanted(PlantedBug::kMixesOrders) && !CameLast(this)) return absl::OkStatus();
  return order_.ContinueOn(stream);
}

void TreeCore::Replayed(Node* node, Call& call) {
  node->parent->last_child = node;
  path_.Append(node, PathState::kReplaying);
  NoteRun(call, node->used);
  ++node->replays;
  node->last_call = stats_.calls;
  ++stats_.replays;
  HandOut(node, call);
}

// A replay writes memory that may be free in the pool's books; a device that checks is told that
// the outputs are live all the same.
void TreeCore::TellOutputs(const Node& node) {
  for (const OutputSlot& slot : node.outputs) {
    if (slot.kind != OutputKind::kOwn) continue;
    device_.memory().NoteRevived(slot.block_range, node.variant->function->name);
  }
}

void TreeCore::HandOut(Node* node, const Call& call) {
  // Outputs that alias inputs are taken before the inputs are consumed.
  Values made;
  made.swap(scratch_outputs_);
  for (uint32_t i = 0; i < node->outputs.size(); ++i) {
    OutputSlot& slot = node->outputs[i];
    switch (slot.kind) {
      case OutputKind::kConstant:
        made.push_back(slot.constant);
        break;
      case OutputKind::kOwn:
        RenewStorage(node, i, call.from);
        made.push_back(Tensor::Over(slot.storage, slot.layout, slot.address));
        path_.Hold(slot.storage, {node->level, i}, &slot);
        break;
      case OutputKind::kSameAsOwn:
        made.push_back(
            Tensor::Over(node->outputs[slot.source].storage, slot.layout, slot.address));
        break;
      case OutputKind::kInput:
        made.push_back(ViewOfInput(call.inputs[slot.source], slot));
        break;
      case OutputKind::kAncestor:
        made.push_back(Tensor::Over(slot.ancestor->outputs[slot.source].storage, slot.layout,
                                    slot.address));
        break;
      case OutputKind::kKept:
        made.push_back(ViewOfKept(*node, slot));
        break;
    }
  }
  if (!node->kept.empty() && !IsPlanted(PlantedBug::kReusesKeptPlace)) ForgetPlaces(node);
  if (call.brings_storage) Consume(call);
  call.outputs->swap(made);
  LetGo(&made);
  scratch_outputs_.swap(made);
}

// What the caller's vector held. Blocks, as those of kept outputs, are free at once, without the
// queue that a drop between calls takes.
void TreeCore::LetGo(Values* values) {
  if (values->empty()) return;
  const StepMemory::InCall in_call(*memory_);
  values->clear();
}

void TreeCore::Consume(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Storage* const storage = call.inputs[i].storage();
    if (storage == nullptr || call.inputs[i].is_opaque() || call.function.IsStatic(i)) continue;
    const bool is_ours = storage->owner() == memory_->owner();
    if (!is_ours && !IsPlanted(PlantedBug::kForgetsOtherUsers)) {
      storage->owner()->NoteUsedOn(call.stream.life());
    }
    call.inputs[i] = Value::Consumed();
  }
}

void TreeCore::RenewStorage(Node* node, uint32_t output, StackId from) {
  OutputSlot& slot = node->outputs[output];
  Storage* storage = slot.storage;
  // One that went stale is as good as new once nobody holds it.
  if (storage != nullptr && storage->state() != StorageState::kOwning &&
      (!storage->held_outside() || IsPlanted(PlantedBug::kRevivesStale))) {
    if (IsPlanted(PlantedBug::kNoStaleChecks)) return;
    storage->set_state(StorageState::kView);
    storage->step = step_;
    if (from != 0) storage->made_at = from;
    return;
  }
  if (storage != nullptr) storage->DropInside();
  storage = memory_->View(slot.block_range);
  storage->AddInside();
  storage->producer = node->variant->function->id;
  storage->output = output;
  storage->step = step_;
  storage->made_at = from;
  slot.storage = storage;
}

}  // namespace graphtree
