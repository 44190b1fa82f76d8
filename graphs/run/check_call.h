// What a call may not bring, in words: streams that capture or are another device's, inputs that
// are stale, consumed, impossible or elsewhere, objects that share a version.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_CHECK_CALL_H_
#define GRAPHTREE_GRAPHS_RUN_CHECK_CALL_H_

#include "absl/status/status.h"
#include "graphs/run/call.h"
#include "graphs/run/ground.h"

namespace graphtree {

// A launch on a stream that captures would become a part of that graph, or spoil it.
absl::Status CheckStream(const Ground& ground, const Call& call);
absl::Status CheckInputs(Ground& ground, const Call& call);
// What the caller said of its inputs and what is not so, where that cannot be helped by a copy.
// REQUIRES: the call has its variant.
absl::Status CheckPromises(const Call& call);
// What comes next on the call's stream runs after other trees' work on memory of this one.
absl::Status WaitForOtherUsers(Ground& ground, const Call& call);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CHECK_CALL_H_
