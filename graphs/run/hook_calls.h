// Calls the hooks of a function (graphs/function_hooks.h) through the guard that catches
// exceptions.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_HOOK_CALLS_H_
#define GRAPHTREE_GRAPHS_RUN_HOOK_CALLS_H_

#include "absl/status/status.h"
#include "graphs/function_hooks.h"

namespace graphtree {

// OK if the launch may be made. The error says that a hook has stopped it.
absl::Status AskBefore(const FunctionHooks& hooks, const LaunchInfo& launch);
// An error if the hook threw.
absl::Status TellAfter(const FunctionHooks& hooks, const LaunchInfo& launch,
                       const absl::Status& launched);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_HOOK_CALLS_H_
