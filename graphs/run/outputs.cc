// Finds or makes one storage for each output.
#include "graphs/run/outputs.h"

#include "graphs/run/kept_outputs.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

void Outputs::HandOut(Node* node, const Call& call) {
  // Outputs that alias inputs are made before the inputs are consumed.
  Values made;
  made.swap(made_);
  for (uint32_t i = 0; i < node->outputs.size(); ++i) {
    OutputSlot& slot = node->outputs[i];
    switch (slot.kind) {
      case OutputKind::kConstant:
        made.push_back(slot.constant);
        break;
      case OutputKind::kOwn:
        RenewStorage(node, i, call.from);
        made.push_back(Tensor::Over(slot.storage, slot.layout, slot.address));
        books_.path().Hold(slot.storage, {node->level, i}, &slot);
        break;
      case OutputKind::kSameAsOwn:
        made.push_back(Tensor::Over(node->outputs[slot.source].storage, slot.layout, slot.address));
        break;
      case OutputKind::kInput:
        made.push_back(ViewOfInput(call.inputs[slot.source], slot));
        break;
      case OutputKind::kAncestor:
        made.push_back(Tensor::Over(HeldAgain(slot, call.from), slot.layout, slot.address));
        break;
      case OutputKind::kKept:
        made.push_back(ViewOfKept(*node, slot));
        break;
    }
  }
  if (!node->kept.empty() && !IsPlanted(PlantedBug::kReusesKeptPlace)) ForgetPlaces(node);
  if (call.brings_storage) ground_.Consume(call);
  call.outputs->swap(made);
  ground_.LetGo(&made);
  made_.swap(made);
}

void Outputs::RenewStorage(Node* node, uint32_t output, StackId from) {
  OutputSlot& slot = node->outputs[output];
  Storage* storage = slot.storage;
  // A stale storage may be used again once nobody holds it.
  if (storage != nullptr && storage->state() != StorageState::kOwning &&
      (!storage->held_outside() || IsPlanted(PlantedBug::kRevivesStale))) {
    if (IsPlanted(PlantedBug::kNoStaleChecks)) return;
    storage->set_state(StorageState::kView);
    storage->step = books_.step();
    if (from != 0) storage->made_at = from;
    return;
  }
  if (storage != nullptr) storage->DropInside();
  storage = ground_.memory->View(slot.block_range);
  storage->AddInside();
  storage->producer = node->variant->function->id;
  storage->output = output;
  storage->step = books_.step();
  storage->made_at = from;
  slot.storage = storage;
}

// An output of an earlier node, which a body had stored. If nobody held it for a while, the path
// has forgotten it: it is listed again, or the pool would give its bytes away.
Storage* Outputs::HeldAgain(const OutputSlot& slot, StackId from) {
  Node* const owner = slot.ancestor;
  const OutputRef output = {owner->level, slot.source};
  if (Storage* const listed = books_.path().Find(output)) return listed;
  RenewStorage(owner, slot.source, from);
  OutputSlot* const owned = &owner->outputs[slot.source];
  books_.path().Hold(owned->storage, output, owned);
  return owned->storage;
}

void Outputs::Revive(const Node& node) {
  for (const OutputSlot& slot : node.outputs) {
    if (slot.kind != OutputKind::kOwn) continue;
    ground_.device.memory().NoteRevived(slot.block_range, node.variant->function->name);
  }
}

Value ViewOfInput(const Value& input, const OutputSlot& slot) {
  return Tensor::Over(input.storage(), slot.layout, input.word() + slot.address);
}

}  // namespace graphtree
