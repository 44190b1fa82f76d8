// Errors about what a call brings: streams that capture or are another device's; inputs that are
// stale, consumed, impossible or on another device; opaque objects that share a version.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_CHECK_CALL_H_
#define GRAPHTREE_GRAPHS_RUN_CHECK_CALL_H_

#include "absl/status/status.h"
#include "graphs/run/call.h"
#include "graphs/run/ground.h"

namespace graphtree {

// A stream that captures is an error: a launch on it would go into the caller's graph, or spoil it.
absl::Status CheckStream(const Ground& ground, const Call& call);
absl::Status CheckInputs(Ground& ground, const Call& call);
// An error if the function's options promise something of the inputs that is not true, and a copy
// of the input does not help. REQUIRES: the call has its variant.
absl::Status CheckPromises(const Call& call);
// Work that is put on the call's stream next runs after other trees' work on memory of this one.
absl::Status WaitForOtherUsers(Ground& ground, const Call& call);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CHECK_CALL_H_
