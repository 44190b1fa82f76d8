// Whether a recording has all the work of its body. work_log.h says what can be known of that.
//
//   memory that the body made, or declares to be written, and that no op of the recording takes:
//     an argument of some op holds its address all the same    nothing is missing
//     else                                                     the recording is given up
//
// Work that the body put on another stream has run there, perhaps on the call's own inputs. An
// eager run would do it a second time: where it may have written memory of others, the call fails
// instead.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_ALL_WORK_H_
#define GRAPHTREE_GRAPHS_RUN_ALL_WORK_H_

#include "graphs/listen/work_log.h"
#include "graphs/memory/step_memory.h"
#include "graphs/recording/path.h"
#include "graphs/run/call.h"
#include "graphs/run/draft.h"

namespace graphtree {

// False if work of the body is not in the recording; the draft has the error.
bool HasAllWork(const Call& call, const StepMemory& memory, const Path& path, const WorkLog& log,
                Draft* draft);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_ALL_WORK_H_
