// What a CUDA graph holds, read back from the driver: ops in the order of their capture, kernels
// with their argument bytes as they lie in the parameter block, edges with their types.
//
// Works on a finished graph and on one that a capture is still recording into.
//
// Cost: some driver calls per op, about 1 us an op.
#ifndef GRAPHTREE_DEVICE_CUDA_GRAPH_LISTING_H_
#define GRAPHTREE_DEVICE_CUDA_GRAPH_LISTING_H_

#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/graph.h"

namespace graphtree {

// The driver's side of an op: its node and, for a kernel, the function that it runs.
struct NativeOp {
  cudaGraphNode_t node = nullptr;
  CUfunction function = nullptr;
};

struct GraphListing {
  std::vector<Op> ops;
  std::vector<NativeOp> natives;  // one per op
};

absl::StatusOr<GraphListing> ListGraph(Context& context, cudaGraph_t graph);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_GRAPH_LISTING_H_
