// Where a body's memory comes from: whoever runs the body implements it.
//
// Threads: the one that runs the body.
#ifndef GRAPHTREE_GRAPHS_BODY_BODY_ALLOCATOR_H_
#define GRAPHTREE_GRAPHS_BODY_BODY_ALLOCATOR_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "device/stream_life.h"
#include "graphs/storage.h"
#include "graphs/tensor.h"

namespace graphtree {

class BodyAllocator {
 public:
  virtual ~BodyAllocator() = default;
  virtual absl::StatusOr<Storage*> Allocate(uint64_t bytes, Stream& stream) = 0;
  // The same, with so many bytes of room behind them if there is memory for that, too.
  virtual absl::StatusOr<Storage*> AllocateWithRoom(uint64_t bytes, uint64_t room,
                                                    Stream& stream) {
    return Allocate(bytes + room, stream);
  }
  // Bytes for one op, until EndScratch. The storage owns no block: its last handle frees nothing.
  virtual absl::StatusOr<Storage*> Scratch(uint64_t bytes, Stream& stream) = 0;
  // The op is launched: from now on the storage is stale, and its bytes may be given away, in the
  // stream's order.
  virtual void EndScratch(Storage* scratch) = 0;
  // Work on `stream` uses the storage, too: whoever gets its bytes next waits for that work.
  virtual absl::Status UseOn(Storage* storage, Stream& stream) = 0;
  // Somebody is about to ask whether the storage may be used, and then to use it.
  virtual void WillUse(const Storage& storage) {}
  // Work that was put on `stream` uses the storage, whichever tree owns it. Called for every tensor
  // of every op, after its launch, and cheap where the storage is the allocator's own.
  virtual void NoteUse(const Storage& storage, Stream& stream) {}
  // Work that is put anywhere up to the end of the run uses the tensor: whoever owns the tensor
  // does not give its bytes away before that end, and not before that work.
  virtual void HoldUsed(const Tensor& tensor) {}
  // Work on `fork`, a stream that was forked off the body's, can neither be ordered before what
  // comes next nor be awaited.
  virtual void LeftBeside(const std::shared_ptr<StreamLife>& fork, const absl::Status& why) {}
  // The tensor's memory is never parked or unmapped from now on.
  virtual absl::Status Pin(const Tensor& tensor) {
    return absl::UnimplementedError("whoever runs the body cannot pin memory");
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_BODY_ALLOCATOR_H_
