// Holds tensors that a body under capture uses without being given them, and that outlive their
// step: the body has them from an eager run, from a caller that kept them, or from another tree.
//
//   eager run    body stores t
//   recording    an op reads t, the body lets go of it     t is dead in the books, and not yet read
//   replay       the op reads t                            t must be there all the same
//
//   tensor of          in a lasting region      in a step region
//   this tree          held                     listed: the nodes before the recording on its path
//                                               make it again, and a replay must find it there
//   another tree       held                     refused: nothing makes it again, and its bytes are
//                                               another's in a later step of its tree
//
// So a recording holds such a tensor for as long as it may be replayed. An input that is pinned is
// the caller's to hold. An input that is copied or patched may be another tensor in every call:
// where the body knows the very same tensor from elsewhere, the recording holds that, too.
//
// Threads: the capture's thread.
#ifndef GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_
#define GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
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

  // All outlive the log. `pinned` are the storages of inputs that come at one address only. A use
  // of a tensor that may not be held is told to `refuse`. Nobody asks HasUsedOfStep for a storage
  // with a later serial than `last_serial`.
  HoldLog(AccessObserver* next, const StepMemory& memory, std::vector<const Storage*> pinned,
          uint64_t last_serial, Refuse refuse)
      : PassingObserver(next),
        memory_(memory),
        pinned_(std::move(pinned)),
        last_serial_(last_serial),
        refuse_(std::move(refuse)) {}

  // The tensors that the recording is to hold, so far.
  const Values& held() const { return held_; }
  // The same, for whoever holds them from now on.
  Values Take() { return std::exchange(held_, {}); }

  // Whether it was used, by its serial: a storage in the step region that no pinned input brings.
  bool HasUsedOfStep(uint64_t serial) const { return used_of_step_.contains(serial); }
  // Without a launch: it is returned.
  void NoteUse(const Storage* storage) {
    if (storage == nullptr || storage->serial > last_serial_) return;
    if (!memory_.InStepRegion(storage->range())) return;
    if (!absl::c_linear_search(pinned_, storage)) used_of_step_.insert(storage->serial);
  }

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
    NoteUse(storage);
    if (storage == nullptr || absl::c_linear_search(pinned_, storage)) return;
    const bool ends = storage->owner()->EndsWithStep(*storage);
    if (!ends && HandlesIn(held_, storage) == 0) held_.push_back(tensor);
    if (!ends || storage->owner() == memory_.owner()) return;
    refuse_(absl::FailedPreconditionError(absl::StrCat(
        "'", user, "' uses ", tensor.raw_bytes().bytes, " bytes that the body knows without being "
        "given them, a tensor of another tree that ends with that tree's step; pass it as an "
        "input, or let its function keep it (FunctionOptions::kept_outputs)")));
  }

  const StepMemory& memory_;
  const std::vector<const Storage*> pinned_;
  const uint64_t last_serial_;
  const Refuse refuse_;
  std::string op_;  // the op that is launched now
  Values held_;
  absl::flat_hash_set<uint64_t> used_of_step_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_HOLD_LOG_H_
