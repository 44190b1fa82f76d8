// Replaces inputs that are less aligned than their function declared, for a run of the body that is
// not recorded: each is copied into aligned memory, a clone, and back if the body wrote to it.
//
//   caller's x, at ...4 --copy--> clone, at ...00 --> body --(if it was written to)--> copy back
//
// Copying back is the last thing that a run does: a run that fails before it leaves the caller's
// memory unwritten. Other ways to that memory while the body runs are watched by clone_watch.h.
//
// Inputs that share bytes with x come along and lie in the clone as they lie in the original, so
// that a write to one is seen in the other. Where no such clone is aligned as all of them declare,
// each input has a clone of its own. That is right as long as none of them is written to: a run
// that writes to one is an error, and the caller's memory stays as it was. The copy is done by the
// kernel that recordings begin with, so any layout will do, also one that overlaps itself.
//
// Thread rule: the tree's caller. Cost: nothing where no alignment is declared.
#ifndef GRAPHTREE_GRAPHS_INPUTS_ALIGNED_INPUTS_H_
#define GRAPHTREE_GRAPHS_INPUTS_ALIGNED_INPUTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/stream.h"
#include "graphs/inputs/clone_watch.h"
#include "graphs/launcher.h"
#include "graphs/match/function.h"
#include "graphs/tensor.h"

namespace graphtree {

class AlignedInputs {
 public:
  // Told which bytes of the caller's are about to be written over.
  using SaveBytes = std::function<void(AddressRange)>;

  // Puts a clone in the place of every input that needs one.
  absl::Status Replace(const Function& function, BodyAllocator& allocator, Stream& stream,
                       Values* inputs);
  bool any() const { return !clones_.empty(); }
  std::vector<ClonedInput> Cloned() const;
  // By input, for `inputs` inputs: whether it is copied.
  std::vector<bool> IsCopied(size_t inputs) const;
  // An output that looks into a clone looks into the caller's own memory instead.
  void Redirect(Values* outputs) const;
  // After the body: an error if it wrote to an input that shares bytes with another one and has a
  // clone apart from it. `written` tells which inputs it wrote to.
  absl::Status CheckApart(const Function& function, const std::vector<bool>& written) const;
  // After CheckApart: copies the written inputs back. Where there are several, the bytes of all but
  // the last one are saved first, since a later copy may fail.
  absl::Status CopyBack(const std::vector<bool>& written, const SaveBytes& save, Stream& stream);
  // The run went well: the caller's tensors are held no more. The clones stay until this object
  // goes.
  void LetGo();

 private:
  struct Clone {
    uint32_t input;
    Value original;
    Tensor clone;
    bool apart = false;  // apart from the clones of inputs that share bytes with this one
  };

  absl::Status CloneWithNeighbours(const Function& function, uint32_t first,
                                   BodyAllocator& allocator, Stream& stream, Values* inputs);
  absl::Status CloneApart(const Function& function, const std::vector<uint32_t>& members,
                          BodyAllocator& allocator, Stream& stream, Values* inputs);
  absl::Status MakeClone(uint32_t input, Storage* storage, Address place, bool apart,
                         Stream& stream, Values* inputs);

  std::vector<Clone> clones_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_ALIGNED_INPUTS_H_
