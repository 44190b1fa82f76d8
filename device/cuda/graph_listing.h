// Reads back from the driver what a CUDA graph holds: ops in the order of their capture, kernels
// with their argument bytes as they lie in the parameter block, edges with their types.
//
// Works on a finished graph and on one that a capture is still recording into.
//
// Cost: CountNodes makes one driver call, ListNodes four; ListGraph makes some for each op, about
// 1 us an op.
#ifndef GRAPHTREE_DEVICE_CUDA_GRAPH_LISTING_H_
#define GRAPHTREE_DEVICE_CUDA_GRAPH_LISTING_H_

#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/graph.h"

namespace graphtree {

absl::StatusOr<size_t> CountNodes(Context& context, cudaGraph_t graph);
// By op id.
absl::StatusOr<std::vector<cudaGraphNode_t>> ListNodes(Context& context, cudaGraph_t graph);
absl::StatusOr<std::vector<Op>> ListGraph(Context& context, cudaGraph_t graph);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_GRAPH_LISTING_H_
