// The memory of one run of a body, or of a part of it: what the run makes, with room for pads
// (pad/room.h), and scratch for the op that is launched next.
//
//   Make ----> BodyAllocator::AllocateWithRoom     the tensor's handles hold it
//   Scratch -> BodyAllocator::Scratch              until EndScratch, after the op
//
// Threads: the one that runs the body.
#ifndef GRAPHTREE_GRAPHS_BODY_RUN_MEMORY_H_
#define GRAPHTREE_GRAPHS_BODY_RUN_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "device/stream.h"
#include "graphs/body/body_allocator.h"
#include "graphs/layout.h"
#include "graphs/pad/pad_plan.h"
#include "graphs/pad/room.h"
#include "graphs/tensor.h"

namespace graphtree {

// What stands for a tensor that could not be made: its shape, without bytes.
Tensor Unmade(const Layout* layout);

class RunMemory {
 public:
  // All outlive this object. Adds to `pads` the room that was learned and given.
  RunMemory(BodyAllocator& allocator, Stream& stream, PadCounts* pads)
      : allocator_(allocator), stream_(stream), pads_(*pads) {}
  ~RunMemory() { EndScratch(); }
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  BodyAllocator& allocator() { return allocator_; }
  // What the run has made so far, for pads.
  MadeMemory& made() { return made_; }
  // Gives and learns room for pads, as MadeMemory::UseRoom says. Without it there is none but what
  // the body asks for.
  void UseRoom(LearnedRoom* learned, uint64_t budget, bool learns) {
    made_.UseRoom(learned, budget, learns);
  }
  // The run that begins is a part's, within the run of the part that has `outer`; null: within the
  // body's.
  void BeginPart(const RunMemory* outer) {
    is_part_ = true;
    outer_ = outer;
    made_.Forget();
  }

  absl::StatusOr<Tensor> Make(const Layout* layout);
  // For a padded copy of `tensor`.
  absl::StatusOr<Tensor> MakeCopy(const Tensor& tensor, const PadPlan& plan);
  absl::StatusOr<Tensor> MakeScratch(uint64_t bytes, const Layout* layout);
  // Ends scratch memory, of an op that was launched or never will be.
  void EndScratch();
  // Whether the storage is scratch that a part has from its body, and that no replay has: a replay
  // runs the parts and nothing else of the body.
  bool IsBodysScratch(const Storage& storage) const;
  // An op was launched that uses the tensor.
  void NoteUse(const Tensor& tensor) {
    if (tensor.storage() != nullptr) allocator_.NoteUse(*tensor.storage(), stream_);
  }
  // Bytes of all that the run has made so far, dead or alive.
  uint64_t asked_bytes() const { return asked_bytes_; }

 private:
  absl::StatusOr<Storage*> Allocate(uint64_t bytes);

  BodyAllocator& allocator_;
  Stream& stream_;
  PadCounts& pads_;
  MadeMemory made_;
  std::vector<Tensor> scratch_;  // of the op that is launched next
  uint64_t asked_bytes_ = 0;
  bool is_part_ = false;
  const RunMemory* outer_ = nullptr;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_RUN_MEMORY_H_
