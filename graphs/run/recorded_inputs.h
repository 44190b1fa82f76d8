// Prepares the inputs of a recording: finds out what the body is given for each, launches the ops
// that copy inputs in, and finds the ops that take patched inputs.
//
//   pinned    the body is given the input itself
//   patched   the body is given a mark: another storage over the same address, by which the pointer
//             log knows every op that takes the input (pointer_log.h)
//   copied    the body is given a buffer of the pool; the graph's first op fills it
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_RECORDED_INPUTS_H_
#define GRAPHTREE_GRAPHS_RUN_RECORDED_INPUTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/graph.h"
#include "device/stream.h"
#include "graphs/inputs/ingest/ingest.h"
#include "graphs/inputs/pointer_log.h"
#include "graphs/match/input_roles.h"
#include "graphs/memory/step_memory.h"
#include "graphs/recording/node.h"
#include "graphs/run/call.h"
#include "graphs/run/draft.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

InputPlan PlanInputs(const Call& call, const CallRoles& roles);

// Moves the plan into the draft's node and returns the inputs for the body. `to_body` has the
// managed inputs' own handles. A failure goes into the draft.
Values PrepareInputs(Ground& ground, const Values& originals, Values to_body,
                     const std::vector<IngestScalar>& scalars, Draft* draft,
                     StepAllocator* allocator);
// Launches the section's ops that copy inputs in on `side`, which captures.
absl::Status LaunchIngest(const Section& section, Stream& side, std::vector<OpToken>* tokens);
// Finds the ops and parts that take patched inputs and kept outputs. Fails if one has an address
// that no launch declares: the call then has to be recorded in another way.
absl::Status FindInputOps(const Values& originals, PointerLog* log, Draft* draft);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_RECORDED_INPUTS_H_
