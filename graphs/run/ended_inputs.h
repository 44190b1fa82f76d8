// Inputs of a call that other trees own, where the function breaks: a part may end such a tree's
// step, and what comes after the part must not read what is another's then.
//
// Threads: the tree's caller. Cost: nothing where no input is another tree's; a search of the
// graph's ops only after an input has ended.
#ifndef GRAPHTREE_GRAPHS_RUN_ENDED_INPUTS_H_
#define GRAPHTREE_GRAPHS_RUN_ENDED_INPUTS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/graph.h"
#include "graphs/match/function.h"
#include "graphs/memory/step_memory.h"
#include "graphs/tensor.h"

namespace graphtree {

// Those of the inputs that other trees own.
Values InputsOfOthers(const StepMemory& memory, absl::Span<const Value> inputs);

// An error if the graph points to an input that has ended since the call began. `graph` may be
// null.
absl::Status CheckEnded(const StepMemory& memory, const Function& function,
                        absl::Span<const Value> inputs, const Graph* graph);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_ENDED_INPUTS_H_
