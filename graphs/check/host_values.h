// Finds values that a body computes on the host from data: two runs of one shape launch the same
// ops, and give one of them another value.
//
//   warm-up      plan(In(lengths), Val(3))       the host read 3 requests out of the lengths
//   recording    plan(In(lengths), Val(5))       ... and 5. A replay goes on with 5 for ever
//
// Memory that an op is given is not compared, as it may lie elsewhere in every run; nor is what
// random ops draw. Of values, integers, floats and structs of integers without padding are
// compared: the bytes of other structs and of pointers may differ though nothing was computed from
// data. An address that a body passes as an integer is taken for a value. A body that computes the
// same from other data is right, and one whose data were the same in both runs is not found. Runs
// between which a workspace has moved are not compared.
//
// Pure.
#ifndef GRAPHTREE_GRAPHS_CHECK_HOST_VALUES_H_
#define GRAPHTREE_GRAPHS_CHECK_HOST_VALUES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graphs/history/call_stack.h"
#include "graphs/listen/op_log.h"

namespace graphtree {

struct HostValue {
  // "op 3 ('plan') was given 3 as argument 1, and 5 now".
  std::string text;
  OpSite site;  // where the later run launched the op
};

// The first difference; nothing if there is none.
std::optional<HostValue> FindHostValue(absl::Span<const LoggedLaunch> before,
                                       absl::Span<const LoggedLaunch> now);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_HOST_VALUES_H_
