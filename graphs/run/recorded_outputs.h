// Where a replay will take each output from (OutputKind in node.h), found when the body has
// returned: memory of the recording's own, an input's, an earlier node's, or a constant.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_RECORDED_OUTPUTS_H_
#define GRAPHTREE_GRAPHS_RUN_RECORDED_OUTPUTS_H_

#include "graphs/memory/step_memory.h"
#include "graphs/recording/path.h"
#include "graphs/run/draft.h"
#include "graphs/tensor.h"

namespace graphtree {

// Fills in the slots of the draft's node. False if the draft cannot be a node, and says so.
bool ClassifyOutputs(const StepMemory& memory, Path& path, const Values& originals,
                     const StepAllocator& allocator, Draft* draft);
// The recording was launched: the outputs that the call is handed, where a slot says that they lie
// elsewhere than the body knew.
void RedirectOutputs(const Values& originals, Draft* draft);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_RECORDED_OUTPUTS_H_
