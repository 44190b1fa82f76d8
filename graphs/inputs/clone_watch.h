// Watches a run whose body was given copies of inputs (aligned_inputs.h). The body may reach the
// caller's bytes by another name than the input: by a captured or stored tensor, in a part, in a
// nested call. Such an access finds other bytes than in a run without copies. The watch refuses,
// before the op is launched, each access for which that makes a difference.
//
//   access by another name    before the copy is written     after that
//   read                      fine: the bytes are the same   refused
//   write                     refused: the copy does not see the write, and copying back would
//                             write over it
//
// A nested call declares which inputs it takes, and not what it does with them: it counts as a
// write, of the caller's bytes or of the copy, which is then copied back. Work that nobody declares
// is not seen.
//
// Threads: the body's thread. A nested call on another thread is not seen. Cost: a comparison for
// each access and each copy.
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

  // `refuse` makes the body's run fail.
  void set_refuse(std::function<void(absl::Status)> refuse) { refuse_ = std::move(refuse); }

  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;

  // An access by an op of a part: an error if the run may not go on after it. An empty name stands
  // for opaque work.
  absl::Status Judge(absl::string_view op, Access access, AddressRange range);
  // The copy of the input is written at some time that no op declares.
  absl::Status NoteWritten(uint32_t input);
  // Whether the copy of the input was written, by all that is known so far.
  bool IsWritten(uint32_t input) const;

  // Whether a run on this thread is watched.
  static bool any() { return innermost_ != nullptr; }
  // For a call of any tree, before it runs: an error if a run on this thread that is watched may
  // not go on after it. That run fails then, too. Copies that the call takes count as written.
  static absl::Status MayCall(absl::string_view function, absl::Span<const Value> inputs);

 private:
  static inline constinit thread_local CloneWatch* innermost_ = nullptr;

  struct Watched {
    ClonedInput cloned;
    bool written = false;      // the copy was written
    bool read_beside = false;  // the caller's bytes were read by another name
  };

  void NoteTaken(AddressRange range);
  absl::Status Refusal(absl::string_view what, const Watched& watched, absl::string_view why) const;

  const Function& function_;
  std::vector<Watched> watched_;
  std::function<void(absl::Status)> refuse_;
  std::string op_;           // the op that is launched now
  CloneWatch* const outer_;  // the watch of the run around this one, on the same thread
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_CLONE_WATCH_H_
