// Replaying a recording that is cut: section, part, section, part, section, in one stream's order.
//
//   section 0      what it writes of the caller's is saved first
//   part 0         is given today's addresses, and memory of its own from the kept region
//   section 1      ...
//   any of them fails: random numbers are given back, what was saved is restored, and the node is
//   as good as before; nothing was handed out or consumed
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/joined_ranges.h"
#include "device/base/status_macros.h"
#include "graphs/part_runner.h"
#include "graphs/planted_bug.h"
#include "graphs/spoilt_ranges.h"
#include "graphs/tree_core.h"
#include "graphs/undo.h"

namespace graphtree {
namespace {

// All of its executables or none.
bool IsEvicted(const Node& node) {
  if (node.section.graph != nullptr) return node.section.executable == nullptr;
  for (const Cut& cut : node.cuts) {
    if (cut.behind.graph != nullptr) return cut.behind.executable == nullptr;
  }
  return false;
}

}  // namespace

// One run of a node's sections and parts.
class TreeCore::CutRun {
 public:
  CutRun(TreeCore& tree, Node* node, Call& call)
      : tree_(tree),
        node_(node),
        call_(call),
        spoilt_(tree.memory_->pool().arena().range_of(Region::kStep),
                tree.memory_->pool().arena().range_of(Region::kKept)),
        undo_(tree.memory_.get(), call.stream, tree.TagOf(call.function)),
        parts_(call.stream, tree.MemoryFor(call.function, Region::kKept), &tree.workspaces_,
               &taken_, [this](const Tensor& tensor) { SaveOfPart(tensor); }) {}

  absl::Status Launch() {
    if (!node_->kept.empty()) GRAPHTREE_RETURN_IF_ERROR(tree_.PlaceKept(node_, call_.stream));
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
      section = &cut.behind;
    }
    return LaunchSection(node_->cuts.size(), section);
  }

  // What the parts launched needs these until it has run.
  std::vector<std::shared_ptr<void>> TakeKeptAlive() {
    return parts_.TakeRequests().keep_alive;
  }

  // Why the call failed, and whether its traces are gone.
  absl::Status TakeBack(const absl::Status& why) {
    taken_.GiveBack();
    ForgetPlaces(node_);
    return AfterUndo(why, undo_.Restore());
  }

 private:
  Address AddressOf(const Place& place) const { return place.In(call_.inputs, node_->places); }

  absl::Status LaunchSection(size_t number, Section* section) {
    if (section->executable == nullptr) return absl::OkStatus();
    return tree_.LaunchFor(node_, number, section, call_.inputs, &taken_, call_.stream);
  }

  absl::Status RunPart(Cut* cut) {
    std::vector<Tensor>& tensors = cut->part.tensors;
    for (const MovingTensor& moving : cut->moving) {
      if (IsPlanted(PlantedBug::kKeepsPlaces)) continue;
      Tensor& tensor = tensors[moving.tensor];
      tensor = Tensor::Foreign(AddressOf(moving.place), tensor.layout());
    }
    if (tree_.tells_device_) ReviveFor(tensors);
    ++tree_.stats_.eager_parts;
    return parts_.Run(cut->part);
  }

  // Memory of the recording itself, and none that the call brings.
  bool IsRecordings(AddressRange range) const {
    if (!tree_.memory_->InStepRegion(range)) return false;
    for (const Value& input : call_.inputs) {
      if (input.is_tensor() && RangeOf(input).Overlaps(range)) return false;
    }
    return true;
  }
  // Not before they are asked for: most parts write to nothing but what their break names.
  void ShowInputs() {
    if (std::exchange(shows_inputs_, true)) return;
    for (const Value& input : call_.inputs) {
      if (input.is_tensor()) spoilt_.Show(RangeOf(input));
    }
  }

  void SaveOfPart(const Tensor& tensor) {
    if (IsPlanted(PlantedBug::kForgetsPartWrites) || IsRecordings(tensor.raw_bytes())) return;
    ShowInputs();
    undo_.TrySaveWrites(call_.stream, tensor, &spoilt_);
  }

  // A device that checks holds the part's launches to the pool's books, which show another state.
  // Ranges that overlap are told as one: two views of one tensor are not two blocks.
  void ReviveFor(absl::Span<const Tensor> tensors) {
    std::vector<AddressRange> used = node_->remade;
    for (const Tensor& tensor : tensors) used.push_back(tensor.raw_bytes());
    Memory& memory = tree_.device_.memory();
    if (!IsPlanted(PlantedBug::kRevivesTwice)) used = OverlapsJoined(std::move(used));
    for (const AddressRange range : used) {
      if (!memory.CheckLive(range).ok()) memory.NoteRevived(range, call_.function.name);
    }
  }

  TreeCore& tree_;
  Node* const node_;
  Call& call_;
  EagerRandom taken_;
  SpoiltRanges spoilt_;
  bool shows_inputs_ = false;
  Undo undo_;
  PartRunner parts_;
};

absl::Status TreeCore::ReplayCut(Node* node, Call& call) {
  if (IsEvicted(*node)) {
    if (absl::Status back = BringBack(node); !back.ok()) {
      call.variant = node->variant;
      return RunEagerly(call, Reason::kOverBudget, std::string(back.message()));
    }
  }
  GRAPHTREE_RETURN_IF_ERROR(ReplaysOn(call.stream));
  if (tells_device_) TellOutputs(*node);
  CutRun run(*this, node, call);
  SetRunning(&call.function);
  absl::Status status = run.Launch();
  SetRunning(nullptr);
  keeper_.graveyard().Add(run.TakeKeptAlive());
  if (!status.ok()) {
    status = WithStacks(Placed(status, absl::StrCat("'", call.function.name, "'")), call,
                        node->sites);
  } else {
    status = AwaitChecked(call, node->sites, call.stream);
  }
  if (!status.ok()) return run.TakeBack(status);
  // The parts' tensors may have been told over the outputs' places.
  if (tells_device_) TellOutputs(*node);
  Replayed(node, call);
  return absl::OkStatus();
}

// Counts the breaks, and says once how a function is recorded and why.
void TreeCore::NoteBreaks(const Node& node) {
  Function& function = *node.variant->function;
  stats_.reasons[static_cast<size_t>(Reason::kBreak)] += node.cuts.size();
  tally_.Count(EdgeOf(node), Reason::kBreak, node.cuts.size());
  uint64_t ops = 0;
  std::string places;
  const Section* section = &node.section;
  for (const Cut& cut : node.cuts) {
    ops += section->op_count();
    absl::StrAppend(&places, places.empty() ? "" : ", ", "'", cut.part.why, "' after op ", ops);
    section = &cut.behind;
  }
  Tell(function, Reason::kBreak,
       absl::StrCat("'", function.name, "' is recorded in ", node.cuts.size() + 1,
                    " sections, because parts of it run eagerly: ", places));
}

}  // namespace graphtree
