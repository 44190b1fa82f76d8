// Holds tensors of the tree's memory that a body under capture uses without being given them. They
// lie in the lasting region: the body has them from an eager run, or from a caller that kept them.
//
//   eager run    body stores t
//   recording    an op reads t, the body lets go of it     t is dead in the books, and not yet read
//   replay       the op reads t                            t must be there all the same
//
// So a recording holds such a tensor for as long as it may be replayed. A tensor in the step region
// needs no hold: the nodes before the recording on its path make it again. The log lists such
// tensors, since a replay must find them where they were made.
//
// Threads: the capture's thread.
#ifndef GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_
#define GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "graphs/launcher.h"
#include "graphs/listen/passing_observer.h"
#include "graphs/memory/step_memory.h"
#include "graphs/tensor.h"

namespace graphtree {

class HoldLog : public PassingObserver {
 public:
  // All outlive the log. Inputs are left out: the caller holds them.
  HoldLog(AccessObserver* next, const StepMemory& memory, absl::Span<const Value> inputs)
      : PassingObserver(next), memory_(memory), inputs_(inputs) {}

  // The tensors that the recording is to hold. Called once.
  Values Take() { return std::exchange(held_, {}); }

  // Whether it was used, by its serial: a storage in the step region that no input brings.
  bool HasUsedOfStep(uint64_t serial) const { return used_of_step_.contains(serial); }
  // Without a launch: it is returned.
  void NoteUse(const Storage* storage) {
    if (storage == nullptr || !memory_.InStepRegion(storage->range())) return;
    if (HandlesIn(inputs_, storage) == 0) used_of_step_.insert(storage->serial);
  }

  void Accessed(Access access, const Tensor& tensor, int argument) override {
    if (MustBeHeld(tensor.storage())) held_.push_back(tensor);
    NoteUse(tensor.storage());
    PassingObserver::Accessed(access, tensor, argument);
  }

 private:
  bool MustBeHeld(const Storage* storage) const {
    return storage != nullptr && storage->state() == StorageState::kOwning &&
           memory_.InLastingRegion(storage->range()) && HandlesIn(inputs_, storage) == 0 &&
           HandlesIn(held_, storage) == 0;
  }

  const StepMemory& memory_;
  const absl::Span<const Value> inputs_;
  Values held_;
  absl::flat_hash_set<uint64_t> used_of_step_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_
