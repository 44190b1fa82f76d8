// Whether executables of a graph may become another graph's, and another's its.
//
// cudaGraphExecUpdate compares kinds, edges and contexts, and refuses what it cannot change. But it
// is known to be wrong in silence where kernels run in clusters, and what it makes of other rare
// attributes is not documented. So both graphs of an update have to be *plain*, or it is refused:
//
//   kernel node       in clusters, by the launch or its code  not plain
//                     cooperative                             not plain
//                     changed by other kernels                not plain
//                     in a memory domain of its own           not plain
//                     with a window of the L2 cache           not plain
//                     an attribute cannot be read             not plain
//   child graph, conditional node: kernels inside             not plain: nobody looks inside
//   other nodes                                               plain
//
// A launch that would like larger clusters than it needs has clusters, so it is not plain either.
//
// Cost: a few driver calls for each node, about half a microsecond.
#ifndef GRAPHTREE_DEVICE_CUDA_PLAIN_GRAPH_H_
#define GRAPHTREE_DEVICE_CUDA_PLAIN_GRAPH_H_

#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"
#include "device/cuda/context.h"

namespace graphtree {

// REQUIRES: the device's context is current.
absl::StatusOr<bool> IsPlain(Context& context, const std::vector<cudaGraphNode_t>& nodes);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_PLAIN_GRAPH_H_
