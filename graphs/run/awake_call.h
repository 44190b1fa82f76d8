// The memory that a call uses is not parked while the call runs.
//
//   begin   MayBegin   is something parked, or will be?  -> an error, or awake from here on
//   match   Keep       the recording needs other trees' memory, or holds some  -> awake
//   miss    StayAwake  anything may be used  -> awake
//
// A call that replays a recording of its tree's own memory pays nothing: nobody parks that memory
// while a thread is in the tree.
//
// Threads: the tree's caller. Other threads may ask for a park at any time, and the park waits.
#ifndef GRAPHTREE_GRAPHS_RUN_AWAKE_CALL_H_
#define GRAPHTREE_GRAPHS_RUN_AWAKE_CALL_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphs/match/function.h"
#include "graphs/memory/step_memory.h"
#include "graphs/recording/node.h"
#include "graphs/run/call.h"
#include "graphs/tensor.h"

namespace graphtree {

class AwakeCall {
 public:
  explicit AwakeCall(StepMemory& memory) : memory_(memory) {}
  AwakeCall(const AwakeCall&) = delete;
  AwakeCall& operator=(const AwakeCall&) = delete;

  // An error for a call while the tree's memory is parked. A park that is queued also waits for
  // this call.
  absl::Status MayBegin(const Function& function, absl::Span<const Value> inputs);
  void StayAwake(absl::Span<const Value> inputs) {
    if (!awake_.has_value()) awake_.emplace(memory_, inputs);
  }
  // `hit`, whose memory is kept awake from here on; null if an input of the call is parked.
  Node* Keep(Node* hit, const Call& call) {
    if (hit == nullptr || (!call.brings_others && hit->held.empty())) return hit;
    return KeepOthers(hit, call);
  }

 private:
  Node* KeepOthers(Node* hit, const Call& call);

  StepMemory& memory_;
  std::optional<StepMemory::StaysAwake> awake_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_AWAKE_CALL_H_
