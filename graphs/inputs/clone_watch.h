// Watches a run whose body was given copies of inputs (aligned_inputs.h). Whoever reaches the
// caller's bytes by another name than the input sees other bytes than a run without copies would
// show: a captured tensor, one that was stored, an argument of a part, an op of a part, a nested
// call. The watch refuses what would make a difference, in words, before the op is launched.
//
//   by another name    while nothing has written to the copy     after that
//   a read             fine: the bytes are the same              refused
//   a write            refused: the copy does not see it, and coming back would write over it
//
// A nested call says what it takes, and not what it does to that: it counts as a write. Work that
// nobody declares is not seen here, as it is not seen anywhere.
//
// Threads: the body's. A nested call on another thread is not seen. Cost: a comparison for each
// access and copy.
#ifndef GRAPHTREE_GRAPHS_INPUTS_CLONE_WATCH_H_
#define GRAPHTREE_GRAPHS_INPUTS_CLONE_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "graphs/launcher.h"
#include "graphs/listen/passing_observer.h"
#include "graphs/match/function.h"
#include "graphs/tensor.h"

namespace graphtree {

struct ClonedInput {
  uint32_t input = 0;
  AddressRange original;
  AddressRange clone;
};

class CloneWatch : public PassingObserver {
 public:
  // `function` and `next` outlive the watch.
  CloneWatch(const Function& function, absl::Span<const ClonedInput> cloned, AccessObserver* next);
  ~CloneWatch() override;
  CloneWatch(const CloneWatch&) = delete;
  CloneWatch& operator=(const CloneWatch&) = delete;

  // Whoever fails the body's run.
  void set_refuse(std::function<void(absl::Status)> refuse) { refuse_ = std::move(refuse); }

  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;

  // Somebody else's access, an op's of a part; an error where the run may not go on. No op: opaque
  // work.
  absl::Status Judge(absl::string_view op, Access access, AddressRange range);
  // Nobody has said when the copy of the input is written to.
  absl::Status NoteWritten(uint32_t input);
  bool IsOfClone(AddressRange range) const;

  // Whether a run on this thread is watched.
  static bool any() { return innermost_ != nullptr; }
  // For a call of any tree, before it runs: an error if a run on this thread that is watched may
  // not go on after it. That run fails then, too.
  static absl::Status MayCall(absl::string_view function, absl::Span<const Value> inputs);

 private:
  static inline constinit thread_local CloneWatch* innermost_ = nullptr;

  struct Watched {
    ClonedInput cloned;
    bool written = false;      // the copy
    bool read_beside = false;  // the caller's bytes
  };

  absl::Status Refusal(absl::string_view what, const Watched& watched, absl::string_view why) const;

  const Function& function_;
  std::vector<Watched> watched_;
  std::function<void(absl::Status)> refuse_;
  std::string op_;           // that is launched now
  CloneWatch* const outer_;  // of the same thread
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_CLONE_WATCH_H_
