// Restores the pool's books, and holds the outputs of runs.
#include "graphs/run/books.h"

#include <utility>

#include "device/base/status_macros.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

absl::Status Books::Open() {
  GRAPHTREE_ASSIGN_OR_RETURN(root_.checkpoint, memory_.Take());
  return absl::OkStatus();
}

void Books::Close() {
  const bool replays = path_.state() == PathState::kReplaying;
  if (replays && !path_.ForgetDead().empty()) Restore().IgnoreError();
  path_.EndAlive();
}

absl::Status Books::Restore() {
  is_away_ = true;
  if (path_.state() == PathState::kRecording || path_.state() == PathState::kWarmUp) {
    path_.ForgetDead();  // frees outputs that have died
    return absl::OkStatus();
  }
  Node* const node = path_.current();
  // The list is made once: an output that another thread drops from here on counts as alive.
  const std::vector<HeldOutput>& all_held = path_.ForgetDead();
  std::vector<BlockId> dying;
  std::vector<std::pair<const HeldOutput*, BlockId>> surviving;
  for (const LiveBlock& live : node->live_after) {
    const HeldOutput* holder = nullptr;
    for (const HeldOutput& held : all_held) {
      if (held.output == live.output) holder = &held;
    }
    if (holder == nullptr && IsPlanted(PlantedBug::kForgetsDying)) continue;
    if (holder == nullptr) {
      dying.push_back(live.block);
    } else {
      surviving.push_back({holder, live.block});
    }
  }
  path_.BecameOwning();
  GRAPHTREE_RETURN_IF_ERROR(memory_.Restore(node->checkpoint, dying));
  if (node != &root_) ++restores_;
  for (const auto& [held, block] : surviving) {
    held->storage->block = Pack(block);
    held->storage->set_state(StorageState::kOwning);
    if (held->slot != nullptr && held->slot->storage == held->storage) {
      held->slot->storage = nullptr;
      held->storage->DropInside();
    }
  }
  owns_in_replay_ = !surviving.empty();
  return absl::OkStatus();
}

// Outputs on a path that replays own no blocks: when one is dropped its memory may be another
// replay's, and must not be freed. The dead among them stay listed: a replay that was chosen may
// need their bytes.
void Books::TakeBlocksAway() {
  for (const HeldOutput& held : path_.listed()) {
    Storage& storage = *held.storage;
    const bool owns = storage.state() == StorageState::kOwning;
    if (owns && memory_.InStepRegion(storage.range())) storage.set_state(StorageState::kView);
  }
  owns_in_replay_ = false;
  path_.BecameViews();
}

void Books::BeginStep(StackId at) {
  ++step_;
  if (IsPlanted(PlantedBug::kNoStaleChecks)) {
    path_.EndAlive();
  } else {
    path_.EndStale(step_, at);
  }
}

bool Books::EndPathIfDead() {
  if (path_.empty() || !path_.ForgetDead().empty()) return false;
  path_.EndDead();
  return true;
}

// Tensors that a body has stored go stale with their step. Only the parts of a recording that is
// cut may go on using them: every replay makes them again, at the same place.
void Books::HoldOutputs(const Call& call, Node* node, const Values& outputs,
                        const StepAllocator& allocator) {
  uint32_t number = 0;
  for (const Value& output : outputs) {
    const bool is_made = output.is_tensor() && output.storage() != nullptr;
    const bool is_new = is_made && !path_.Holds(*output.storage());
    if (is_new) {
      HoldMade(call, *node, output.storage(), number, number);
      const bool is_stored = output.storage()->outside() > HandlesIn(outputs, output.storage());
      node->stores |= is_stored;
      if (is_stored) NoteRemade(output.storage(), node);
    }
    ++number;
  }
  const StorageHolds held = allocator.Held();
  for (Storage* storage : held) {
    if (path_.Holds(*storage) || IsPlanted(PlantedBug::kForgetsStored)) continue;
    HoldMade(call, *node, storage, number++, kNotReturned);
    node->stores = true;
    NoteRemade(storage, node);
    if (!node->cuts.empty()) node->remade.push_back(storage->range());
  }
}

// Storages of the recording's own memory. The first one's serial, which is given once, names it.
void Books::NoteRemade(Storage* storage, Node* node) const {
  if (node->cuts.empty() || !memory_.InStepRegion(storage->range())) return;
  if (node->remade_by == 0) node->remade_by = storage->serial;
  storage->remade_by = node->remade_by;
}

void Books::MakeStale(const Call& call, const StepAllocator& allocator,
                      absl::Span<const MarkedInput> marked, bool has_blocks) {
  const auto take_back = [&](Storage* storage) {
    storage->producer = call.function.id;
    storage->output = kOfFailedRun;
    storage->step = step_;
    if (IsPlanted(PlantedBug::kForgetsTakenBack)) return;
    storage->set_state(StorageState::kStale);
  };
  const StorageHolds held = allocator.Held();
  for (Storage* storage : held) {
    if (has_blocks) memory_.pool().Free(Unpack(storage->block)).IgnoreError();
    take_back(storage);
  }
  for (const MarkedInput& input : marked) take_back(input.mark.storage());
}

void Books::HoldMade(const Call& call, const Node& node, Storage* storage, uint32_t number,
                     uint32_t output) {
  if (!memory_.InStepRegion(storage->range())) return;
  storage->producer = node.variant->function->id;
  storage->output = output;
  storage->step = step_;
  storage->made_at = call.from;
  path_.Hold(storage, {node.level, number}, nullptr);
}

}  // namespace graphtree
