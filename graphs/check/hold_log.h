// Holds what a body under capture uses without being given it: tensors that outlive their step,
// which it has from an eager run, from a caller that kept them, or from another tree.
//
//   eager run    body stores t
//   recording    an op reads t, the body lets go of it     dead in the books, and not yet read
//   replay       the op reads t                            must be there all the same
//
//   tensor of                       lasting region      step region
//   this tree                       held                made again by whoever is before the
//                                                       recording on its path
//   another tree                    held                refused: nothing makes it again, and its
//                                                       bytes are another's in a later step there
//
// So a recording holds such a tensor for as long as it may be replayed. An input that it has pinned
// is the caller's to hold. One that it copies or patches may be another tensor in every call: where
// the body knows the very same tensor from elsewhere, that is held too.
//
// Threads: the capture's.
#ifndef GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_
#define GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphs/launcher.h"
#include "graphs/listen/passing_observer.h"
#include "graphs/memory/step_memory.h"
#include "graphs/tensor.h"

namespace graphtree {

class HoldLog : public PassingObserver {
 public:
  using Refuse = std::function<void(absl::Status)>;

  // All outlive it. `pinned` are those of the inputs that come at one address only. What may not be
  // held is told to `refuse`.
  HoldLog(AccessObserver* next, const StepMemory& memory, std::vector<const Storage*> pinned,
          Refuse refuse)
      : PassingObserver(next),
        memory_(memory),
        pinned_(std::move(pinned)),
        refuse_(std::move(refuse)) {}

  // Once: what the recording is to hold.
  Values Take() { return std::exchange(held_, {}); }

  void Launching(absl::string_view op) override {
    op_.assign(op.data(), op.size());
    PassingObserver::Launching(op);
  }
  void Accessed(Access access, const Tensor& tensor, int argument) override {
    Note(tensor, argument < 0 ? "opaque work" : op_);
    PassingObserver::Accessed(access, tensor, argument);
  }
  void UsedBeside(const Tensor& tensor) override {
    Note(tensor, "opaque work on a side stream");
    PassingObserver::UsedBeside(tensor);
  }

 private:
  void Note(const Tensor& tensor, absl::string_view user) {
    const Storage* storage = tensor.storage();
    if (storage == nullptr || absl::c_linear_search(pinned_, storage)) return;
    const bool ends = storage->owner()->EndsWithStep(*storage);
    if (!ends && HandlesIn(held_, storage) == 0) held_.push_back(tensor);
    if (!ends || storage->owner() == memory_.owner()) return;
    refuse_(absl::FailedPreconditionError(absl::StrCat(
        "'", user, "' uses ", storage->range().bytes, " bytes that the body knows without being "
        "given them, a tensor of another tree that ends with that tree's step; pass it as an "
        "input, or let its function keep it (FunctionOptions::kept_outputs)")));
  }

  const StepMemory& memory_;
  const std::vector<const Storage*> pinned_;
  const Refuse refuse_;
  std::string op_;  // that is launched now
  Values held_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_
