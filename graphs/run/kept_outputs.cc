// Finds places for kept outputs, and copies the outputs there.
#include "graphs/run/kept_outputs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/run/located.h"

namespace graphtree {
namespace {

const Layout* BytesLayout(uint64_t bytes) {
  return Layout::Of(DType::kU8, {static_cast<int64_t>(bytes)});
}

bool EndsWithStep(const Storage* storage) {
  return storage != nullptr && storage->owner()->EndsWithStep(*storage);
}

absl::Status NotToBeKept(const Function& function, uint32_t output, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("output ", output, " of '", function.name, "' is to be kept, but looks into ",
                   what, "; keep that one, or copy it"));
}

constexpr absl::string_view kStepsInput = "an input that ends with the step that made it";

}  // namespace

absl::StatusOr<Tensor> KeptOutputs::New(const Function& function, const Layout* bytes,
                                        Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(
      Storage * storage,
      ground_.memory->AllocateKept(ground_.TagOf(function), bytes->extent_bytes(), stream,
                                   ground_.options.kept_bytes));
  return Tensor::Over(storage, bytes, storage->range().base);
}

// True if the output lies in memory of the step region that this run made; an error if it lies in
// another output there, which ends with the step.
absl::StatusOr<bool> KeptOutputs::MustMove(const Function& function, uint32_t output,
                                           const Values& outputs) {
  if (output >= outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", function.name, "' is to keep output ",
                                                   output, " and has ", outputs.size()));
  }
  const Storage* storage = outputs[output].storage();
  if (storage == nullptr) return false;
  if (storage->owner() != ground_.memory->owner() && EndsWithStep(storage)) {
    return NotToBeKept(function, output, "a tensor of another tree that ends with that one's step");
  }
  if (!ground_.memory->InStepRegion(storage->range())) return false;
  for (const HeldOutput& held : path_.ForgetDead()) {
    if (held.storage != storage) continue;
    return NotToBeKept(
        function, output,
        absl::StrCat("output ", held.output.output, " of an earlier function of the step"));
  }
  return true;
}

absl::Status KeptOutputs::MoveAll(const Function& function, Stream& stream, Values* outputs) {
  for (uint32_t output : function.options.kept_outputs) {
    GRAPHTREE_ASSIGN_OR_RETURN(const bool move, MustMove(function, output, *outputs));
    if (!move) continue;
    Storage* storage = (*outputs)[output].storage();
    const AddressRange from = storage->range();
    GRAPHTREE_ASSIGN_OR_RETURN(const Tensor place, New(function, BytesLayout(from.bytes), stream));
    GRAPHTREE_RETURN_IF_ERROR(stream.Copy(place.word(), from.base, from.bytes));
    for (Value& value : *outputs) {
      if (value.storage() != storage) continue;
      value =
          Tensor::Over(place.storage(), value.layout(), place.word() + (value.word() - from.base));
    }
  }
  return absl::OkStatus();
}

absl::Status KeptOutputs::CountAll(const Function& function, const Values& outputs) {
  for (uint32_t output : function.options.kept_outputs) {
    GRAPHTREE_RETURN_IF_ERROR(MustMove(function, output, outputs).status());
    Storage* storage = outputs[output].storage();
    if (storage == nullptr || !ground_.memory->InLastingRegion(storage->range())) continue;
    GRAPHTREE_RETURN_IF_ERROR(ground_.memory->CountAsKept(storage, ground_.options.kept_bytes));
  }
  return absl::OkStatus();
}

absl::Status KeptOutputs::Capture(const Values& originals, Draft* draft) {
  Node* node = draft->node.get();
  const Function& function = *node->variant->function;
  std::vector<IngestCopy> copies;
  for (uint32_t output : function.options.kept_outputs) {
    GRAPHTREE_ASSIGN_OR_RETURN(const bool move, MustMove(function, output, draft->outputs));
    const Storage* storage = draft->outputs[output].storage();
    if (storage == nullptr) continue;
    const auto given = std::find(draft->stand_ins.begin(), draft->stand_ins.end(), storage->serial);
    // An opaque object's holder and an input without a stand-in have the serial 0.
    if (storage->serial != 0 && given != draft->stand_ins.end()) {
      // The output is an input, and so the caller's own memory is handed out.
      const Value& original = originals[given - draft->stand_ins.begin()];
      if (EndsWithStep(original.storage())) return NotToBeKept(function, output, kStepsInput);
      continue;
    }
    if (!move) continue;
    if (IsNoted(*node, *storage)) continue;
    const AddressRange block = storage->range();
    const Layout* const bytes = BytesLayout(block.bytes);
    node->kept.push_back({block, storage->serial, bytes});
    node->places.emplace_back();
    if (!node->variant->keeps_by_copy) continue;
    GRAPHTREE_ASSIGN_OR_RETURN(node->places.back(), New(function, bytes, *ground_.capture_stream));
    copies.push_back({node->places.back().word(), block.base, bytes});
  }
  return CaptureCopies(copies, draft);
}

bool KeptOutputs::IsNoted(const Node& node, const Storage& storage) const {
  return std::any_of(node.kept.begin(), node.kept.end(),
                     [&storage](const KeptOutput& kept) { return kept.serial == storage.serial; });
}

absl::Status KeptOutputs::CaptureCopies(const std::vector<IngestCopy>& copies, Draft* draft) {
  Stream& on = *ground_.capture_stream;
  for (IngestPlan& plan : IngestPlan::For(copies, {})) {
    std::vector<uint32_t> served;
    for (size_t i = 0; i < plan.copies(); ++i) served.push_back(plan.first_copy() + i);
    const Argument table = plan.Table();
    GRAPHTREE_RETURN_IF_ERROR(
        on.Launch(plan.kernel(), plan.shape(), absl::MakeSpan(&table, 1)));
    GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<OpToken> last, on.CaptureFrontier());
    draft->copies_out.push_back(last.front());
    draft->node->last().egress.push_back({std::move(plan), 0, std::move(served)});
  }
  return absl::OkStatus();
}

absl::Status KeptOutputs::FindCopies(Draft* draft) {
  Section& last = draft->node->last();
  for (size_t i = 0; i < draft->copies_out.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(last.egress[i].op, last.graph->Find(draft->copies_out[i]));
  }
  return absl::OkStatus();
}

void KeptOutputs::NoteInputs(Node* node) {
  for (const uint32_t output : node->variant->function->options.kept_outputs) {
    node->keeps_inputs |= node->outputs[output].kind == OutputKind::kInput;
  }
}

absl::Status KeptOutputs::CheckInputs(const Node& node, absl::Span<const Value> inputs) {
  const Function& function = *node.variant->function;
  for (const uint32_t output : function.options.kept_outputs) {
    const OutputSlot& slot = node.outputs[output];
    if (slot.kind != OutputKind::kInput) continue;
    if (!EndsWithStep(inputs[slot.source].storage())) continue;
    return NotToBeKept(function, output, kStepsInput);
  }
  return absl::OkStatus();
}

absl::Status KeptOutputs::Place(Node* node, Stream& stream) {
  const Function& function = *node->variant->function;
  // Foreign code on another thread may have been in the pool since before the call.
  ground_.foreign->AwaitAllocations();
  const MemoryGiver::Taking taking(*ground_.giver, {&function, node});
  for (size_t i = 0; i < node->kept.size(); ++i) {
    if (!node->places[i].is_none()) continue;
    absl::StatusOr<Tensor> place = New(function, node->kept[i].bytes, stream);
    if (!place.ok()) {
      ForgetPlaces(node);
      return Located(place.status(), absl::StrCat("'", function.name, "'"));
    }
    node->places[i] = *std::move(place);
  }
  return absl::OkStatus();
}

bool KeptOutputs::IsWithinLimit(const Node& node) const {
  uint64_t bytes = 0;
  for (const KeptOutput& kept : node.kept) bytes += kept.bytes->extent_bytes();
  return ground_.memory->MayKeep(bytes, ground_.options.kept_bytes).ok();
}

bool MarkKept(const Node& node, const Storage& storage, OutputSlot* slot) {
  for (uint32_t i = 0; i < node.kept.size(); ++i) {
    if (node.kept[i].serial != storage.serial) continue;
    slot->kind = OutputKind::kKept;
    slot->source = i;
    slot->address -= node.kept[i].block.base;
    return true;
  }
  return false;
}

Value ViewOfKept(const Node& node, const OutputSlot& slot) {
  const Value& place = node.places[slot.source];
  return Tensor::Over(place.storage(), slot.layout, place.word() + slot.address);
}

void ForgetPlaces(Node* node) {
  for (Value& place : node->places) place = Value();
}

absl::Status PatchCopiesOut(Section* section, const Values& places) {
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

}  // namespace graphtree
