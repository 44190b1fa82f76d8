// The traces of a body that runs at once, which are taken back if it fails: the random numbers that
// the body drew, and, if its function is known to break, the bytes of the caller's that it wrote.
//
//   body, on its stream      part, on the caller's      body         fails: UndoEffects
//   save x, write x  ------> ...  --------------------> ...  ------> x <--copy-- saved
//
// Copies back come after all of the run's work, on whichever stream that work was last: else an old
// byte could arrive after a later call has written a new one. Saving is best effort, as a run that
// has begun goes on where there is no memory to save to; UndoEffects then says what is not
// restored.
//
// Threads: the tree's caller. Used for one run.
#ifndef GRAPHTREE_GRAPHS_MEMORY_EAGER_TRACES_H_
#define GRAPHTREE_GRAPHS_MEMORY_EAGER_TRACES_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "allocator/pool_types.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/random/random_source.h"
#include "graphs/memory/spoilt_ranges.h"
#include "graphs/memory/step_memory.h"
#include "graphs/memory/stream_order.h"
#include "graphs/tensor.h"
#include "graphs/memory/undo.h"
#include "graphs/listen/write_log.h"

namespace graphtree {

class EagerTraces {
 public:
  // All outlive the traces. `stream` is the body's, and so is the memory of `allocator`.
  EagerTraces(StepMemory* memory, StreamOrder* order, Stream& stream,
              const StepAllocator& allocator, WordId tag)
      : order_(order),
        stream_(stream),
        allocator_(allocator),
        spoilt_(memory->pool().arena().range_of(allocator.region()),
                memory->pool().arena().range_of(Region::kLasting)),
        undo_(memory, stream, tag) {}
  EagerTraces(const EagerTraces&) = delete;
  EagerTraces& operator=(const EagerTraces&) = delete;

  EagerRandom& random() { return random_; }
  // From here on the caller's bytes are saved before ops write them. Inputs that are `mutated` in
  // ways that no op declares are saved now. Returns the observer for the body's launcher, which
  // passes everything on to `next`.
  AccessObserver* SaveWrites(absl::Span<const Value> inputs, const std::vector<bool>& mutated,
                             AccessObserver* next);
  // Saves bytes that an eager part of the body is about to write, on the part's stream. Does
  // nothing before SaveWrites.
  void SaveOfPart(Stream& stream, const Tensor& tensor);

  // The body is over, and these bytes of the caller's are about to be written from a copy.
  void SaveBeforeCopyBack(AddressRange range);

  // Tries to take everything back; a failure says what could not be.
  absl::Status UndoEffects();

 private:
  void Save(Stream& stream, const Tensor& tensor);

  StreamOrder* const order_;
  Stream& stream_;
  const StepAllocator& allocator_;
  EagerRandom random_;
  SpoiltRanges spoilt_;
  Undo undo_;
  std::unique_ptr<WriteLog> log_;
  bool saves_ = false;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_EAGER_TRACES_H_
