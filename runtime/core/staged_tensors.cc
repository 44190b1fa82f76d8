// Walks over the slots that have a tensor.
#include "runtime/core/staged_tensors.h"

#include "absl/strings/str_cat.h"
#include "graphs/launcher.h"
#include "graphs/storage.h"
#include "runtime/core/copy_with_gaps.h"

namespace graphtree {
namespace {

bool Ends(const Tensor& tensor) {
  return tensor.storage()->owner()->EndsWithStep(*tensor.storage());
}

// A copy that outlives the step of the tensor.
Values CarryBody(Launcher& on, Values&) {
  return {CopyWithGaps(on.Input(0), on)};
}

}  // namespace

FunctionId RegisterCarry(Tree& tree) {
  return tree.Register("carry", {.exclude = true}, CarryBody);
}

template <typename Call>
void StagedTensors::ForEach(const Call& call) {
  for (uint32_t left = has_; left != 0; left &= left - 1) {
    const auto slot = static_cast<SlotId>(__builtin_ctz(left));
    call(slot, tensors_[slot]);
  }
}

absl::Status StagedTensors::Check(absl::Span<const SlotSpec> slots) {
  absl::Status first;
  ForEach([&](SlotId slot, const Tensor& tensor) {
    const uint32_t bit = uint32_t{1} << slot;
    if ((awake_ & bit) == 0 && tensor.storage()->owner()->KeepAwake()) awake_ |= bit;
    const absl::Status may = MayBeUsed(*tensor.storage(), tensor.raw_bytes().bytes);
    if (may.ok()) return;
    first.Update(absl::Status(
        may.code(), absl::StrCat("slot '", slots[slot].name,
                                 "' was staged with a tensor, and then: ", may.message())));
  });
  return first;
}

bool StagedTensors::AnyEnds() {
  bool any = false;
  ForEach([&any](SlotId, const Tensor& tensor) { any |= Ends(tensor); });
  return any;
}

absl::Status StagedTensors::Carry(Tree& tree, FunctionId carry, Stream& stream, StepBlock* block) {
  absl::Status carried;
  ForEach([&](SlotId slot, Tensor& tensor) {
    if (!carried.ok() || !Ends(tensor)) return;
    Value from = tensor;
    Values copy;
    carried = tree.Run(carry, absl::MakeSpan(&from, 1), stream, &copy);
    if (!carried.ok()) return;
    LetSleep(slot);
    tensor = Tensor::From(copy[0]);
    block->MoveSource(slot, tensor.word());
  });
  return carried.ok() ? block->Finish() : carried;
}

void StagedTensors::LetGoAfter(const Tree& tree, Stream& stream) {
  ForEach([&](SlotId, Tensor& tensor) {
    // The lane's own tree comes after its work in any case.
    if (!tree.Made(tensor)) tensor.storage()->owner()->NoteUsedOn(stream.life());
  });
  LetGo();
}

void StagedTensors::LetGo() {
  ForEach([this](SlotId slot, Tensor& tensor) {
    LetSleep(slot);
    tensor = {};
  });
  has_ = 0;
}

void StagedTensors::LetSleep(SlotId slot) {
  const uint32_t bit = uint32_t{1} << slot;
  if ((awake_ & bit) != 0) tensors_[slot].storage()->owner()->LetSleep();
  awake_ &= ~bit;
}

}  // namespace graphtree
