// Outputs that outlive their step: every run of their function puts them into memory of their own,
// in the region of the pool that no restore touches.
//
//   warm-up   body --> output in the step region --copy on the stream--> kept place
//   record    the ops that make the output and read it are found, and patched to the kept place;
//             where one is hidden, a last op of the graph copies the output there instead
//   replay    the same patches: each run has a place of its own
//   eager     the body allocates in the kept region anyway
//
// What runs later sees the kept place only, so that a step may end, or the path be restored, under
// it. The place is free again when the last handle goes; the next run then gets the same one and
// patches nothing. Where two places alternate, two executables take turns (turns.cc).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/tree_core.h"

namespace graphtree {
namespace {

const Layout* BytesLayout(uint64_t bytes) {
  return Layout::Of(DType::kU8, {static_cast<int64_t>(bytes)});
}

}  // namespace

absl::StatusOr<Tensor> TreeCore::NewKept(const Function& function, WordId tag,
                                         const Layout* bytes, Stream& stream) {
  absl::StatusOr<Storage*> storage =
      memory_->AllocateKept(tag, bytes->extent_bytes(), stream, options_.kept_bytes);
  if (!storage.ok()) {
    return absl::Status(storage.status().code(), absl::StrCat("'", function.name, "': ",
                                                              storage.status().message()));
  }
  return Tensor::Over(*storage, bytes, (*storage)->range().base);
}

// Whether an output is memory that the run itself made in the step region; an error if it is
// somebody else's that ends with the step.
absl::StatusOr<bool> TreeCore::MustMove(const Function& function, uint32_t output,
                                        const Values& outputs) {
  if (output >= outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", function.name, "' is to keep output ",
                                                   output, " and has ", outputs.size()));
  }
  const Storage* storage = outputs[output].storage();
  if (storage == nullptr || !memory_->InStepRegion(storage->range())) return false;
  for (const HeldOutput& held : path_.Held()) {
    if (held.storage != storage) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "output ", output, " of '", function.name, "' is to be kept, but looks into output ",
        held.output.output, " of an earlier function of the step; keep that one, or copy it"));
  }
  return true;
}

absl::Status TreeCore::MoveKept(const Function& function, Stream& stream, Values* outputs) {
  for (uint32_t output : function.options.kept_outputs) {
    GRAPHTREE_ASSIGN_OR_RETURN(const bool move, MustMove(function, output, *outputs));
    if (!move) continue;
    Storage* storage = (*outputs)[output].storage();
    const AddressRange from = storage->range();
    GRAPHTREE_ASSIGN_OR_RETURN(
        const Tensor place, NewKept(function, TagOf(function), BytesLayout(from.bytes), stream));
    GRAPHTREE_RETURN_IF_ERROR(stream.Copy(place.word(), from.base, from.bytes));
    for (Value& value : *outputs) {
      if (value.storage() != storage) continue;
      value = Tensor::Over(place.storage(), value.layout(),
                           place.word() + (value.word() - from.base));
    }
  }
  return absl::OkStatus();
}

// An eager run made them where they can stay.
absl::Status TreeCore::CountKept(const Function& function, const Values& outputs) {
  for (uint32_t output : function.options.kept_outputs) {
    GRAPHTREE_RETURN_IF_ERROR(MustMove(function, output, outputs).status());
    Storage* storage = outputs[output].storage();
    if (storage == nullptr || !memory_->InKeptRegion(storage->range())) continue;
    if (absl::Status status = memory_->CountAsKept(storage, options_.kept_bytes); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("'", function.name, "': ", status.message()));
    }
  }
  return absl::OkStatus();
}

// The capture is open, the body is done: notes what is kept, and copies it out where it must be.
absl::Status TreeCore::CaptureEgress(const Values& originals, Draft* draft) {
  Node* node = draft->node.get();
  const Function& function = *node->variant->function;
  std::vector<IngestCopy> copies;
  for (uint32_t output : function.options.kept_outputs) {
    GRAPHTREE_ASSIGN_OR_RETURN(const bool move, MustMove(function, output, draft->outputs));
    if (!move) continue;
    const Storage* storage = draft->outputs[output].storage();
    const auto given =
        std::find(draft->stand_ins.begin(), draft->stand_ins.end(), storage->serial);
    if (given != draft->stand_ins.end()) {
      // It is an input, which is handed out as the caller's own.
      const Value& original = originals[given - draft->stand_ins.begin()];
      if (original.storage() == nullptr) continue;
      if (!memory_->InStepRegion(original.storage()->range())) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", output, " of '", function.name, "' is to be kept, but looks into an input ",
          "that was made in this step; keep that one, or copy it"));
    }
    const bool known = std::any_of(
        node->kept.begin(), node->kept.end(),
        [storage](const KeptOutput& kept) { return kept.serial == storage->serial; });
    if (known) continue;
    const AddressRange block = storage->range();
    const Layout* const bytes = BytesLayout(block.bytes);
    node->kept.push_back({block, storage->serial, bytes});
    node->places.emplace_back();
    if (!node->variant->keeps_by_copy) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(node->places.back(),
                               NewKept(function, TagOf(function), bytes, *side_));
    copies.push_back({node->places.back().word(), block.base, bytes});
  }
  for (IngestPlan& plan : IngestPlan::For(copies, {})) {
    std::vector<uint32_t> served;
    for (size_t i = 0; i < plan.copies(); ++i) served.push_back(plan.first_copy() + i);
    const Argument table = plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(
        side_->Launch(plan.kernel(), plan.shape(), absl::MakeSpan(&table, 1)));
    GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<OpToken> last, side_->CaptureFrontier());
    draft->egress.push_back(last.front());
    node->last().egress.push_back({std::move(plan), 0, std::move(served)});
  }
  return absl::OkStatus();
}

absl::Status TreeCore::FindEgressOps(Draft* draft) {
  Section& last = draft->node->last();
  for (size_t i = 0; i < draft->egress.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(last.egress[i].op, last.graph->Find(draft->egress[i]));
  }
  return absl::OkStatus();
}

bool TreeCore::MarkKept(const Node& node, const Storage& storage, OutputSlot* slot) {
  for (uint32_t i = 0; i < node.kept.size(); ++i) {
    if (node.kept[i].serial != storage.serial) continue;
    slot->kind = OutputKind::kKept;
    slot->source = i;
    slot->address -= node.kept[i].block.base;
    return true;
  }
  return false;
}

Value TreeCore::ViewOfKept(const Node& node, const OutputSlot& slot) {
  const Value& place = node.places[slot.source];
  return Tensor::Over(place.storage(), slot.layout, place.word() + slot.address);
}

absl::Status TreeCore::PlaceKept(Node* node, Stream& stream) {
  const Function& function = *node->variant->function;
  const WordId tag = TagOf(function);
  for (size_t i = 0; i < node->kept.size(); ++i) {
    if (!node->places[i].is_none()) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(node->places[i],
                               NewKept(function, tag, node->kept[i].bytes, stream));
  }
  return absl::OkStatus();
}

absl::Status TreeCore::PatchEgress(Section* section, const Values& places) {
  for (IngestOp& egress : section->egress) {
    for (size_t copy = 0; copy < egress.inputs.size(); ++copy) {
      const Address target = places[egress.inputs[copy]].word();
      if (egress.plan.target(copy) == target) continue;
      egress.plan.SetTarget(copy, target);
      egress.unpatched = true;
    }
    if (!egress.unpatched) continue;
    const Argument table = egress.plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(section->executable->PatchKernel(
        egress.op, egress.plan.kernel(), egress.plan.shape(), absl::MakeSpan(&table, 1)));
    egress.unpatched = false;
  }
  return absl::OkStatus();
}

void TreeCore::ForgetPlaces(Node* node) {
  for (Value& place : node->places) place = Value();
}

}  // namespace graphtree
