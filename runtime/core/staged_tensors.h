// The tensors that a step was staged with, by slot. They are held until the step's work has read
// them, or is known never to.
//
//   staged ---- Check ---- Carry, if the launch does not read them first ---- LetGoAfter
//      |          |                                                              |
//      |          `-- the memory of trees that made them is not parked ----------'
//      |----------------------------------------------------------------------- LetGo: canceled
//
// A tensor may end with a step: of this lane, whose next run is given the tensor's memory, or of
// another one. Carry copies such tensors, so that the step reads the copies.
//
// Thread rule: like a container. Cost: a few instructions for each tensor.
#ifndef GRAPHTREE_RUNTIME_CORE_STAGED_TENSORS_H_
#define GRAPHTREE_RUNTIME_CORE_STAGED_TENSORS_H_

#include <array>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/function_options.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "runtime/slots/slot.h"
#include "runtime/slots/step_block.h"

namespace graphtree {

class StagedTensors {
 public:
  bool any() const { return has_ != 0; }
  // REQUIRES: the tensor has a storage, and the slot has none yet.
  void Add(SlotId slot, Tensor tensor) {
    tensors_[slot] = std::move(tensor);
    has_ |= uint32_t{1} << slot;
  }

  // An error, with the slot's name, if one may not be used any more: its own step may have ended
  // since it was staged, in another lane or by its tree's owner.
  // From here on their memory is not parked.
  absl::Status Check(absl::Span<const SlotSpec> slots);
  // Whether one ends with a step.
  bool AnyEnds();
  // Copies those that end with a step; `block` then reads the copies, and is finished again.
  absl::Status Carry(Tree& tree, FunctionId carry, Stream& stream, StepBlock* block);

  // Work on `stream`, of `tree`, reads them.
  void LetGoAfter(const Tree& tree, Stream& stream);
  // No work reads them.
  void LetGo();

 private:
  // Calls with each slot and its tensor.
  template <typename Call>
  void ForEach(const Call& call);
  // The slot's tensor goes, or another one takes its place.
  void LetSleep(SlotId slot);

  std::array<Tensor, kMostSlots> tensors_;
  uint32_t has_ = 0;    // a bit for each slot
  uint32_t awake_ = 0;  // those whose memory is kept from being parked
};

// The function that Carry is given.
FunctionId RegisterCarry(Tree& tree);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_STAGED_TENSORS_H_
