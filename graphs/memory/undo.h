// Bytes of the caller's that a call overwrites before it is sure to succeed, saved so that a call
// that fails half-way leaves them as they were.
//
//   Save(x)      x --copy--> kept memory       in the stream's order, before x is written
//   Restore()    x <--copy-- kept memory       what anybody launches behind it sees the old bytes
//
// The memory is the kept region's, so that no restore of the pool's books touches it, and is given
// back with the object. Host memory that a part changed is out of reach.
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
  // The same in the order of `stream`. Restore comes after that stream's work, too: the caller sees
  // to it.
  absl::Status SaveOn(Stream& stream, AddressRange range);
  // For a run that goes on where there is no memory to save to: Restore tells of the failure.
  void TrySaveOn(Stream& stream, AddressRange range) { unsaved_.Update(SaveOn(stream, range)); }
  // Likewise, what the tensor covers of somebody's bytes, as far as no write before it did.
  void TrySaveWrites(Stream& stream, const Tensor& tensor, SpoiltRanges* spoilt);
  // Everything is tried; the first failure comes back, or else what could not be saved. Nothing is
  // saved any more then.
  absl::Status Restore();

 private:
  struct Saved {
    AddressRange range;
    Value copy;
  };

  absl::Status CopyAway(Stream& stream, AddressRange range, Address target);

  StepMemory* const memory_;
  Stream& stream_;
  const WordId tag_;
  std::vector<Saved> saved_;
  absl::Status unsaved_;  // the first failure of TrySaveOn
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_UNDO_H_
