// Finds out, when the body has returned, where a replay will take each output from (OutputKind in
// node.h): the recording's own memory, an input, an earlier node, or a constant.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_RECORDED_OUTPUTS_H_
#define GRAPHTREE_GRAPHS_RUN_RECORDED_OUTPUTS_H_

#include "graphs/memory/step_memory.h"
#include "graphs/recording/path.h"
#include "graphs/run/draft.h"
#include "graphs/tensor.h"

namespace graphtree {

// Fills in the slots of the draft's node. False if the draft cannot become a node; it has the
// error.
bool ClassifyOutputs(const StepMemory& memory, Path& path, const Values& originals,
                     const StepAllocator& allocator, Draft* draft);
// Change outputs that the call is handed, and that lie elsewhere than the body had them. After the
// first launch: kept outputs lie in their places.
void RedirectKept(Draft* draft);
// Before the recording joins the tree: what the body returns of its inputs is the caller's.
void RedirectInputs(const Values& originals, Draft* draft);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_RECORDED_OUTPUTS_H_
