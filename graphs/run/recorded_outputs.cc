// Asks for each kind of output in turn.
#include "graphs/run/recorded_outputs.h"

#include "absl/strings/str_cat.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/outputs.h"

namespace graphtree {
namespace {

bool FindSource(const StepMemory& memory, Path& path, const Values& originals, const Draft& draft,
                uint32_t output, OutputSlot* slot) {
  const Storage* storage = draft.outputs[output].storage();
  for (uint32_t input = 0; input < originals.size(); ++input) {
    const bool is_given = draft.stand_ins[input] != 0 && draft.stand_ins[input] == storage->serial;
    const InputRole role = draft.node->roles[input];
    // If the body returns the input itself although it was given a stand-in, it knows the input
    // from elsewhere, and would return that one whatever a call brings.
    const bool has_stand_in = role == InputRole::kCopied || role == InputRole::kPatched;
    if (!is_given && (has_stand_in || originals[input].storage() != storage)) continue;
    const bool is_itself = !is_given || role == InputRole::kManaged;
    const Address base = is_itself ? originals[input].word() : storage->range().base;
    slot->kind = OutputKind::kInput;
    slot->source = input;
    slot->address = draft.outputs[output].word() - base;
    return true;
  }
  for (uint32_t earlier = 0; earlier < output; ++earlier) {
    if (draft.outputs[earlier].storage() == storage &&
        draft.node->outputs[earlier].kind == OutputKind::kOwn) {
      slot->kind = OutputKind::kSameAsOwn;
      slot->source = earlier;
      return true;
    }
  }
  for (const HeldOutput& held : path.ForgetDead()) {
    if (held.storage != storage) continue;
    slot->kind = OutputKind::kAncestor;
    slot->source = held.output.output;
    slot->ancestor = path.current();
    while (slot->ancestor->level != held.output.level) slot->ancestor = slot->ancestor->parent;
    // What its body has stored without returning it is not made by a replay.
    return slot->source < slot->ancestor->outputs.size() &&
           slot->ancestor->outputs[slot->source].kind == OutputKind::kOwn;
  }
  slot->kind = OutputKind::kOwn;
  return storage->state() == StorageState::kOwning && memory.InStepRegion(storage->range());
}

}  // namespace

bool ClassifyOutputs(const StepMemory& memory, Path& path, const Values& originals,
                     const StepAllocator& allocator, Draft* draft) {
  if (allocator.spilled()) {
    draft->FailForMemory();
    return false;
  }
  Node* node = draft->node.get();
  for (uint32_t i = 0; i < draft->outputs.size(); ++i) {
    const Value& output = draft->outputs[i];
    OutputSlot& slot = node->outputs.emplace_back();
    Storage* storage = output.storage();
    if (storage == nullptr || (output.is_opaque() && HandlesIn(originals, storage) == 0)) {
      slot.constant = output;
      continue;
    }
    slot.layout = output.layout();
    slot.address = output.word();
    slot.block_range = storage->range();
    if (!FindSource(memory, path, originals, *draft, i, &slot)) {
      draft->status = absl::InvalidArgumentError(
          absl::StrCat("output ", i, " of '", node->variant->function->name,
                       "' is no output of this tree's path"));
      return false;
    }
    if (slot.kind == OutputKind::kOwn) MarkKept(*node, *storage, &slot);
  }
  return true;
}

void RedirectKept(Draft* draft) {
  for (size_t i = 0; i < draft->outputs.size(); ++i) {
    const OutputSlot& slot = draft->node->outputs[i];
    if (slot.kind == OutputKind::kKept) draft->outputs[i] = ViewOfKept(*draft->node, slot);
  }
}

// The body was given managed inputs themselves, and stand-ins for others.
void RedirectInputs(const Values& originals, Draft* draft) {
  const Node& node = *draft->node;
  for (size_t i = 0; i < draft->outputs.size(); ++i) {
    const OutputSlot& slot = node.outputs[i];
    const bool stands_in =
        slot.kind == OutputKind::kInput && node.roles[slot.source] != InputRole::kManaged;
    if (stands_in) draft->outputs[i] = ViewOfInput(originals[slot.source], slot);
  }
}

}  // namespace graphtree
