// Saves bytes of the caller's that a call overwrites before it is sure to succeed, so that a call
// that fails half-way leaves them as they were.
//
//   Save(x)      x --copy--> saved bytes       in the stream's order, before x is written
//   Restore()    x <--copy-- saved bytes       work that is launched after this sees the old bytes
//
// The saved bytes lie in the lasting region, so that no restore of the pool's books touches them,
// and are freed with this object. A tensor of another tree that is saved is held as well, or that
// tree could give the bytes away before they are restored. Host memory that a part changed is not
// restored, nor is what its owner has unmapped meanwhile.
//
// Threads: the tree's caller. Cost: a block and a copy on the device for each range; with nothing
// to save, nothing.
#ifndef GRAPHTREE_GRAPHS_MEMORY_UNDO_H_
#define GRAPHTREE_GRAPHS_MEMORY_UNDO_H_

#include <vector>

#include "absl/status/status.h"
#include "allocator/pool_types.h"
#include "device/address.h"
#include "device/stream.h"
#include "graphs/memory/spoilt_ranges.h"
#include "graphs/memory/step_memory.h"
#include "graphs/tensor.h"

namespace graphtree {

class Undo {
 public:
  Undo(StepMemory* memory, Stream& stream, WordId tag)
      : memory_(memory), stream_(stream), tag_(tag) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  absl::Status Save(AddressRange range) { return SaveOn(stream_, range); }
  // The same in the order of `stream`. REQUIRES: Restore comes after the work of that stream, too.
  absl::Status SaveOn(Stream& stream, AddressRange range);
  // For a run that goes on if there is no memory to save to: Restore then returns the failure.
  void TrySaveOn(Stream& stream, AddressRange range) { unsaved_.Update(SaveOn(stream, range)); }
  // Likewise, for those bytes of the tensor that must be saved and were not written before.
  void TrySaveWrites(Stream& stream, const Tensor& tensor, SpoiltRanges* spoilt);
  // Tries to restore everything; returns the first failure, or else the first failure to save.
  // Nothing is saved any more after it.
  absl::Status Restore();

 private:
  struct Saved {
    AddressRange range;
    Value copy;
    bool may_go = false;  // the caller's, and there when it was saved
  };

  absl::Status CopyAway(Stream& stream, AddressRange range, Address target);

  StepMemory* const memory_;
  Stream& stream_;
  const WordId tag_;
  std::vector<Saved> saved_;
  Values held_;           // tensors of other trees
  absl::Status unsaved_;  // the first failure of TrySaveOn
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_UNDO_H_
