// How a recording takes its inputs: what the body is given for each, the ops that copy inputs in,
// and the ops that take an input which is patched.
//
//   pinned    the body is given the input itself
//   patched   the body is given a mark: another storage over the same address, by which the capture
//             is searched for every op that takes it (pointer_log.h)
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

InputPlan PlanInputs(const Ground& ground, const Call& call, absl::Span<const RoleChoice> roles);

// Moves the plan into the draft's node and returns what the body is given. `to_body` has the
// managed inputs' own handles. A failure is the draft's.
Values PrepareInputs(Ground& ground, const Values& originals, Values to_body,
                     const std::vector<IngestScalar>& scalars, Draft* draft,
                     StepAllocator* allocator);
// Puts the section's ops that copy inputs in onto the stream, which captures.
absl::Status LaunchIngest(const Section& section, Stream& side, std::vector<OpToken>* tokens);
// Which ops and parts take patched inputs and kept outputs. One whose address stands where nobody
// spoke of it makes the draft fail: it has to be recorded in another way.
absl::Status FindInputOps(const Values& originals, PointerLog* log, Draft* draft);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_RECORDED_INPUTS_H_
