// A draft is a recording that is being made, before it becomes a node of the tree.
#ifndef GRAPHTREE_GRAPHS_RUN_DRAFT_H_
#define GRAPHTREE_GRAPHS_RUN_DRAFT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "device/graph.h"
#include "graphs/inputs/pointer_log.h"
#include "graphs/inputs/rehearsal.h"
#include "graphs/match/match.h"
#include "graphs/reason.h"
#include "graphs/recording/node.h"
#include "graphs/tensor.h"

namespace graphtree {

// How a recording takes its inputs, one entry for each.
struct InputPlan {
  std::vector<InputRole> roles;
  std::vector<bool> unpinned;  // static or managed, but taken at any address
  std::vector<bool> sought;    // taken by a library; patched if the recording's addresses are found
  InputPattern pattern;
};

struct Draft {
  std::unique_ptr<Node> node;
  InputPlan plan;
  Rehearsal* rehearsal = nullptr;  // of the inputs that are sought; null if none is
  Values outputs;
  // By input: the serial of the storage that the body is given in its place, or 0.
  std::vector<uint64_t> stand_ins;
  std::vector<MarkedInput> marked;
  std::vector<OpToken> copies_out;  // the ops that copy kept outputs to their places
  std::vector<uint32_t> hidden;     // patched inputs with an address that no launch declares
  std::vector<uint32_t> written;    // copied inputs that this body is the first to write to
  absl::Status status;
  Reason reason = Reason::kRecordFailed;
  bool is_final = false;       // the failure is the call's own error: no eager run follows
  bool was_committed = false;  // the pool's scope is committed, and cannot roll back any more
  bool was_launched = false;   // and cannot be undone: inputs that died inside are overwritten

  // The body's memory did not fit into the region that recordings are made of.
  void FailForMemory() {
    status = absl::ResourceExhaustedError("the pool ran out while the function was recorded");
    reason = Reason::kOutOfPool;
  }
  // This recording is only made to be compared with the next one.
  bool is_rehearsal() const { return rehearsal != nullptr && !rehearsal->done(); }
};

// The reason of a recording that was given up because of this failure. Not for failures of the
// pool, which pass the device's code on.
Reason ReasonOf(const absl::Status& status);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_DRAFT_H_
