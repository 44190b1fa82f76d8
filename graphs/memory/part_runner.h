// Runs the eager parts of one call, in every kind of run alike: on the caller's stream, with memory
// that follows no step. It hears what the parts launch (PartLauncher) and says what is to be saved.
//
//   a launch of a part writes to     the part runner
//   memory that the part made        does nothing
//   anything else                    calls `save` before the launch: those bytes are saved, as a
//                                    call that fails has to leave them as they were
//
// A part may write where its break declares no write: to memory that the part knows from elsewhere,
// or to a tensor that the break names as read. If an input of the call lies there, a copy of that
// input made before the part is out of date. If the part was given the copy, the write is lost with
// the copy. So `save` hears of these writes, too, and `is_told` says which the break declares.
//
// A part's tensors are addresses, as they are elsewhere in each run. Those of another tree have
// that tree's storage while the part runs: the part may end that tree's step, and a use after that
// is an error there as in the body.
//
// Where the body was given copies of inputs, each access of a part is judged before its launch
// (inputs/clone_watch.h). A forbidden access fails the part.
//
// Threads: the tree's caller. Cost: a comparison for each write that a part declares.
#ifndef GRAPHTREE_GRAPHS_MEMORY_PART_RUNNER_H_
#define GRAPHTREE_GRAPHS_MEMORY_PART_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/stream.h"
#include "graphs/body/op_watch.h"
#include "graphs/body/requests.h"
#include "graphs/eager_part.h"
#include "graphs/launcher.h"
#include "graphs/memory/step_memory.h"
#include "graphs/part_launcher.h"
#include "graphs/random/random_source.h"
#include "graphs/tensor.h"
#include "graphs/workspaces.h"

namespace graphtree {

class PartRunner : private AccessObserver {
 public:
  struct Write {
    const Tensor& tensor;
    bool is_told = false;  // the break declares a write that covers these bytes
    uint64_t serial = 0;   // of the storage that is written to, where that is known; else 0
    AddressRange range() const { return tensor.raw_bytes(); }
  };
  using SaveWrite = std::function<void(const Write&)>;
  // OK if the op may touch the bytes.
  using Judge = std::function<absl::Status(absl::string_view op, Access, AddressRange)>;

  // The parts' own memory comes from `allocator`. `save` may be empty. All others outlive the
  // runner.
  PartRunner(Stream& stream, StepAllocator allocator, Workspaces* workspaces, RandomSource* random,
             SaveWrite save);
  PartRunner(const PartRunner&) = delete;
  PartRunner& operator=(const PartRunner&) = delete;

  // REQUIRES: `save` is not empty.
  void set_judge(Judge judge) { judge_ = std::move(judge); }
  // May be null; for all parts from here on.
  void SetWatch(OpWatch* watch) { parts_.SetWatch(watch); }
  // Tensors of the part that lie in one of `others`, which other trees own, are lent its storage.
  absl::Status Run(BreakRequest* part, absl::Span<const Value> others);
  // What the parts asked for since the last TakeRequests.
  BodyRequests TakeRequests() { return parts_.TakeRequests(); }

 private:
  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Launched(const Kernel&, const LaunchShape&, Arguments) override {}
  Write WriteTo(const Tensor& tensor) const;

  Stream& stream_;
  StepAllocator allocator_;
  PartLauncher parts_;
  const SaveWrite save_;
  Judge judge_;
  std::string op_;  // that is launched now
  const BreakRequest* running_ = nullptr;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_PART_RUNNER_H_
