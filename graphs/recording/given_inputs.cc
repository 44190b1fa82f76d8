// Gives a body its inputs, buries those that die, and takes them back.
#include "graphs/recording/given_inputs.h"

#include <utility>

#include "device/base/check.h"

namespace graphtree {

Values GivenInputs::Take(absl::Span<const InputRole> roles, Values* originals) {
  Values given(originals->size());
  for (uint32_t i = 0; i < originals->size(); ++i) {
    Value& original = (*originals)[i];
    Storage* storage = original.storage();
    if (roles[i] != InputRole::kManaged || storage == nullptr) continue;
    storage->AddInside();
    given_.push_back({i, storage, storage->serial});
    storages_.push_back(storage);
    given[i] = std::move(original);
    original = Tensor::Foreign(given[i].word(), given[i].layout());
  }
  return given;
}

uint64_t GivenInputs::SerialOf(uint32_t input) const {
  for (const Given& given : given_) {
    if (given.input == input) return given.serial;
  }
  return 0;
}

void GivenInputs::BuryDead() {
  for (const HeldOutput& dead : path_->TakeDead(storages_)) {
    uint32_t input = 0;
    for (const Given& given : given_) {
      if (given.storage == dead.storage) input = given.input;
    }
    GRAPHTREE_DCHECK(dead.storage->state() == StorageState::kOwning) << "the books are not true";
    if (in_capture_) memory_->pool().watchers().Shield(dead.storage->range());
    memory_->pool().Free(Unpack(dead.storage->block)).IgnoreError();
    // The block is free already: the storage's last handle must not free it again.
    dead.storage->set_state(StorageState::kView);
    buried_.push_back({input, dead});
  }
}

void GivenInputs::Exhume(Values* originals) {
  for (const Buried& buried : buried_) {
    buried.held.storage->set_state(StorageState::kOwning);
    path_->PutBack(buried.held);
  }
  buried_.clear();
  GiveBackLiving(originals);
}

void GivenInputs::LoseDead(Values* originals) {
  for (const Buried& buried : buried_) {
    memory_->pool().Free(Unpack(buried.held.storage->block)).IgnoreError();
  }
  GiveBackLiving(originals);
}

void GivenInputs::GiveBackLiving(Values* originals) {
  for (const Given& given : given_) {
    bool dead = false;
    for (const Buried& buried : buried_) dead |= buried.held.storage == given.storage;
    Value& original = (*originals)[given.input];
    original = dead ? Value::Consumed()
                    : Value(Tensor::Over(given.storage, original.layout(), original.word()));
  }
  LayToRest();
}

void GivenInputs::LayToRest() {
  memory_->pool().watchers().Unshield();
  for (const Buried& buried : buried_) buried.held.storage->DropInside();
  for (const Given& given : given_) given.storage->DropInside();
  buried_.clear();
  given_.clear();
  storages_.clear();
}

}  // namespace graphtree
