// The memory of other trees that a call uses is not parked while the call runs.
//
//   a part of tree A's call   has a tensor of tree B, and calls B
//   B                         was to be parked, and would be at the beginning of its call
//   A                         reads or writes the tensor after that part
//
// So from the beginning of the call on for its inputs, and for other tensors from their first use
// on, whoever parks B waits for A's call.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_MEMORY_AWAKE_MEMORY_H_
#define GRAPHTREE_GRAPHS_MEMORY_AWAKE_MEMORY_H_

#include <memory>
#include <vector>

#include "graphs/storage.h"

namespace graphtree {

class AwakeMemory {
 public:
  void Add(StorageOwner& owner) {
    for (const Kept& kept : kept_) {
      if (kept.owner == &owner) return;
    }
    kept_.push_back({&owner, owner.KeepAwake()});
  }
  void Clear() { kept_.clear(); }

 private:
  struct Kept {
    const StorageOwner* owner;  // lives as long as what follows
    std::shared_ptr<void> awake;
  };
  std::vector<Kept> kept_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_AWAKE_MEMORY_H_
