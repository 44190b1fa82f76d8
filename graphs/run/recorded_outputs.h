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
// After the first launch: changes outputs that the call is handed where their slot says that they
// lie elsewhere than in the body, in the caller's input or in a kept output's place.
void RedirectOutputs(const Values& originals, Draft* draft);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_RECORDED_OUTPUTS_H_
