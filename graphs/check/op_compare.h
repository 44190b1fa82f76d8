// Compares what a body launches now with the ops of a recording of it: another kernel, another
// grid, another value, other memory of the caller's.
//
//   body now     scale(out, in, 3)    add(out, in)           the recording goes on with 2
//   recording    scale(out, in, 2)    add(out, in)           for ever
//
// Memory of the tree's lies elsewhere in every run, and is not compared.
//
// Pure.
#ifndef GRAPHTREE_GRAPHS_CHECK_OP_COMPARE_H_
#define GRAPHTREE_GRAPHS_CHECK_OP_COMPARE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"
#include "device/graph.h"
#include "graphs/listen/launch_trace.h"

namespace graphtree {

struct OpDifference {
  size_t op = 0;     // among the body's
  std::string text;  // "its argument 2 is 02 00 00 00 in the recording, and 03 00 00 00 now"
};

// The kernels, copies and fills of a recording that its body has launched, in their order: all but
// the first `front` and the last `back`, which copy inputs in and outputs out.
std::vector<const Op*> OpsOfBody(absl::Span<const Op> recorded, size_t front, size_t back);

// `is_fixed` tells memory that is at one address in every run: the caller's, but no input.
std::optional<OpDifference> FirstLaunchDifference(
    absl::Span<const TracedOp> body, absl::Span<const Op* const> recorded,
    const std::function<bool(AddressRange)>& is_fixed);

// Where an argument of a recorded op points to. Nothing if that cannot be told.
std::optional<Address> RecordedAddress(const TracedOp& body, const Op& recorded, size_t argument);

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_CHECK_OP_COMPARE_H_
