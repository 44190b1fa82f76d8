// The memory of other trees that a call uses is not parked while the call runs.
//
//   a part of tree A's call   has a tensor of tree B, and calls B
//   B                         was to be parked, and would be at the beginning of its call
//   A                         reads or writes the tensor after that part
//
// So whoever parks B waits for A's call: from its beginning if an input of the call lies in B, else
// from the first use of a tensor that does. That may be another thread.
//
// Threads: the tree's caller. Cost: two atomic operations for each of the other trees.
#ifndef GRAPHTREE_GRAPHS_MEMORY_AWAKE_MEMORY_H_
#define GRAPHTREE_GRAPHS_MEMORY_AWAKE_MEMORY_H_

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "graphs/storage.h"

namespace graphtree {

class AwakeMemory {
 public:
  // Afterwards the memory is parked if the owner says so, and else will not be before Clear.
  void Add(StorageOwner& owner) {
    if (absl::c_linear_search(owners_, &owner)) return;
    if (owner.KeepAwake()) owners_.push_back(&owner);
  }
  void Clear() {
    for (StorageOwner* const owner : owners_) owner->LetSleep();
    owners_.clear();
  }

 private:
  absl::InlinedVector<StorageOwner*, 4> owners_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_AWAKE_MEMORY_H_
