// Reads one node of a CUDA graph into an Op: its kind and what it does.
#ifndef GRAPHTREE_DEVICE_CUDA_NODE_PARAMS_H_
#define GRAPHTREE_DEVICE_CUDA_NODE_PARAMS_H_

#include <unordered_map>
#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/graph.h"

namespace graphtree {

// Where each function's parameters lie, so that the driver is asked once for all ops of a kernel.
using ParameterLayouts = std::unordered_map<CUfunction, std::vector<ParamSlot>>;

// Fills in everything but the id and the dependencies.
absl::Status ReadNode(Context& context, cudaGraphNode_t node, ParameterLayouts& layouts, Op* op);

absl::StatusOr<OpKind> ReadKind(Context& context, cudaGraphNode_t node);
// REQUIRES: a kernel.
absl::StatusOr<CUfunction> ReadFunction(Context& context, cudaGraphNode_t node);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NODE_PARAMS_H_
