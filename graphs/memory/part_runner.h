// Runs the eager parts of one call, in every kind of run alike: on the caller's stream, with memory
// that follows no step.
//
//   a launch of a part     writes to           the part runner
//                          what the part made  does nothing
//                          anything else       says so before the launch: whoever runs the body
//                                              saves those bytes, as a call that fails has to leave
//                                              them as they were
//
// A part may write to memory that its break does not name: the part knows it from elsewhere. Where
// an input lies there, a copy of the input from before the part is no more what it was, so such a
// write is told as one beside the break.
//
// Where the body was given copies of inputs, a part's accesses are judged before they are launched
// (inputs/clone_watch.h): one that may not be fails the part.
//
// Threads: the tree's caller. Cost: a comparison for each write that a part declares.
#ifndef GRAPHTREE_GRAPHS_MEMORY_PART_RUNNER_H_
#define GRAPHTREE_GRAPHS_MEMORY_PART_RUNNER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/address.h"
#include "device/stream.h"
#include "graphs/body_requests.h"
#include "graphs/eager_part.h"
#include "graphs/launcher.h"
#include "graphs/random/random_source.h"
#include "graphs/memory/step_memory.h"
#include "graphs/workspaces.h"

namespace graphtree {

class PartRunner : private AccessObserver {
 public:
  // `beside`: the break names no tensor that covers it.
  using SaveWrite = std::function<void(const Tensor&, bool beside)>;
  // OK if the op may touch the bytes.
  using Judge = std::function<absl::Status(absl::string_view op, Access, AddressRange)>;

  // `allocator` makes the parts' own memory. `save` may be empty. All others outlive the runner.
  PartRunner(Stream& stream, StepAllocator allocator, Workspaces* workspaces, RandomSource* random,
             SaveWrite save);
  PartRunner(const PartRunner&) = delete;
  PartRunner& operator=(const PartRunner&) = delete;

  // REQUIRES: it has somebody to tell of writes.
  void set_judge(Judge judge) { judge_ = std::move(judge); }
  // After a part that has failed no other one runs.
  absl::Status Run(const BreakRequest& part);
  // What the parts so far asked for, once.
  BodyRequests TakeRequests() { return std::exchange(on_.requests(), {}); }

 private:
  void Launching(absl::string_view op) override;
  void Accessed(Access access, const Tensor& tensor, int argument) override;
  void Launched(const Kernel&, const LaunchShape&, Arguments) override {}

  StepAllocator allocator_;
  Launcher on_;
  const SaveWrite save_;
  Judge judge_;
  std::string op_;  // that is launched now
  const BreakRequest* running_ = nullptr;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MEMORY_PART_RUNNER_H_
