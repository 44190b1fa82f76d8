// Launches sections and runs parts in turn, and takes their effects back after a failure.
#include "graphs/run/cut_replay.h"

#include <utility>

#include "allocator/memory/joined_ranges.h"
#include "device/base/status_macros.h"
#include "graphs/memory/stray_capture.h"
#include "graphs/run/ended_inputs.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/located.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

CutReplay::CutReplay(Ground& ground, CallJournal& journal, SectionLauncher& launcher, Node* node,
                     Call& call)
    : ground_(ground),
      journal_(journal),
      launcher_(launcher),
      node_(node),
      call_(call),
      spoilt_(ground.memory->pool().arena().range_of(Region::kStep),
              ground.memory->pool().arena().range_of(Region::kLasting)),
      undo_(ground.memory.get(), call.stream, ground.TagOf(call.function)),
      parts_(call.stream, ground.MemoryFor(call.function, Region::kLasting), &ground.workspaces,
             &taken_, [this](const PartRunner::Write& write) { SaveOfPart(write); }) {
  parts_.SetWatch(
      LaunchWatch::For(journal, call.function, ground.scopes, RunKind::kPart, &watch_));
}

absl::StatusOr<bool> CutReplay::Launch() {
  absl::StatusOr<bool> launched = LaunchAll();
  // Says more than what fails on a stream that captures.
  GRAPHTREE_RETURN_IF_ERROR(Located(EndStrayCapture(call_.stream), "one of the body's parts"));
  return launched;
}

absl::StatusOr<bool> CutReplay::LaunchAll() {
  Section* section = &node_->section;
  for (size_t i = 0; i < node_->cuts.size(); ++i) {
    Cut& cut = node_->cuts[i];
    for (const SpoiltBytes& spoilt : cut.spoilt) {
      const AddressRange range = {AddressOf(spoilt.place), spoilt.bytes};
      GRAPHTREE_RETURN_IF_ERROR(undo_.Save(range));
      spoilt_.NoteSaved(range);
    }
    GRAPHTREE_RETURN_IF_ERROR(LaunchSection(i, section));
    GRAPHTREE_RETURN_IF_ERROR(RunPart(&cut));
    if (overwrote_copied_ || wrote_to_copy_ || HasMovedWorkspace()) return false;
    section = &cut.next_section;
  }
  GRAPHTREE_RETURN_IF_ERROR(LaunchSection(node_->cuts.size(), section));
  return true;
}

Reason CutReplay::WhySpoilt() const {
  if (wrote_to_copy_) return Reason::kMutatedInput;
  return overwrote_copied_ ? Reason::kOverlappingInputs : Reason::kWorkspaceMoved;
}

absl::Status CutReplay::UndoEffects() {
  taken_.GiveBack();
  ForgetPlaces(node_);
  if (ground_.tells_device) ReviveInputs();
  return undo_.Restore();
}

absl::Status CutReplay::LaunchSection(size_t number, Section* section) {
  if (number > 0 && call_.brings_others) {
    GRAPHTREE_RETURN_IF_ERROR(
        CheckEnded(*ground_.memory, call_.function, call_.inputs, section->graph.get()));
  }
  // The parts before and after it work on the stream all the same.
  if (section->executable == nullptr) return ground_.NoteWorkOn(call_.stream);
  return launcher_.Launch(*node_, number, section, call_.inputs, &taken_, call_.stream);
}

absl::Status CutReplay::RunPart(Cut* cut) {
  std::vector<Tensor>& tensors = cut->part.tensors;
  for (const MovingTensor& moving : cut->moving) {
    if (IsPlanted(PlantedBug::kKeepsPlaces)) continue;
    Tensor& tensor = tensors[moving.tensor];
    tensor = Tensor::Foreign(AddressOf(moving.place), tensor.layout());
  }
  if (ground_.tells_device) ReviveFor(tensors);
  ++parts_run_;
  const RemadeNow remade(node_->remade_by);
  Values others;
  if (call_.brings_others) others = InputsOfOthers(*ground_.memory, call_.inputs);
  return journal_.Told(Phase::kPart, call_.function,
                       [&] { return parts_.Run(&cut->part, others); });
}

bool CutReplay::IsRecordings(AddressRange range) const {
  if (!ground_.memory->InStepRegion(range)) return false;
  for (const Value& input : call_.inputs) {
    if (input.is_tensor() && RangeOf(input).Overlaps(range)) return false;
  }
  return true;
}

// Called at the first write that is asked about: most parts write only to what their break names.
void CutReplay::ShowInputs() {
  if (std::exchange(shows_inputs_, true)) return;
  for (const Value& input : call_.inputs) {
    if (input.is_tensor()) spoilt_.Show(RangeOf(input));
  }
}

// A recording that copies an input which its parts write serves no input at all, wherever that
// lies.
void CutReplay::NoteUntold(const PartRunner::Write& write) {
  constexpr AddressRange kEverywhere = {0, ~uint64_t{0}};
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    if (node_->roles[i] != InputRole::kCopied) continue;
    if (write.serial != 0 && write.serial == node_->stand_ins[i]) {
      wrote_to_copy_ = true;
      node_->written_beside.Add(kEverywhere);
    } else if (RangeOf(call_.inputs[i]).Overlaps(write.range())) {
      overwrote_copied_ = true;
      node_->written_beside.Add(write.range());
    }
  }
}

void CutReplay::SaveOfPart(const PartRunner::Write& write) {
  if (!write.is_told) NoteUntold(write);
  if (IsPlanted(PlantedBug::kForgetsPartWrites) || IsRecordings(write.range())) return;
  ShowInputs();
  undo_.TrySaveWrites(call_.stream, write.tensor, &spoilt_);
}

// Tells a device that checks accesses that the part's memory is live: the pool's books, which it
// checks against, show another state. Ranges that overlap are joined, as two views of one tensor
// are one block.
void CutReplay::ReviveFor(absl::Span<const Tensor> tensors) {
  std::vector<AddressRange> used = node_->remade;
  for (const Tensor& tensor : tensors) used.push_back(tensor.raw_bytes());
  Memory& memory = ground_.device.memory();
  if (!IsPlanted(PlantedBug::kRevivesTwice)) used = OverlapsJoined(std::move(used));
  for (const AddressRange range : used) {
    if (!memory.CheckLive(range).ok()) memory.NoteRevived(range, call_.function.name);
  }
}

// Tells a checking device that inputs are live again that died in the recording: it was told of the
// recording's memory at their addresses, and now they are the caller's again.
void CutReplay::ReviveInputs() {
  for (const Value& input : call_.inputs) {
    const Storage* storage = input.storage();
    if (storage == nullptr || !input.is_tensor()) continue;
    if (!ground_.memory->InStepRegion(storage->range())) continue;
    ground_.device.memory().NoteRevived(storage->range(), call_.function.name);
  }
}

}  // namespace graphtree
