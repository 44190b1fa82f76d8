// Reads one node of a CUDA graph into an Op: its kind and what it does.
#ifndef GRAPHTREE_DEVICE_CUDA_NODE_PARAMS_H_
#define GRAPHTREE_DEVICE_CUDA_NODE_PARAMS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <cuda.h>
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

// A captured kernel as the driver takes it back with other arguments.
struct KernelTemplate {
  CUDA_KERNEL_NODE_PARAMS_v2 params = {};
  std::vector<ParamSlot> parameters;
  uint32_t argument_bytes = 0;    // of all
  std::vector<void*> pointers;    // room for one to each
};

// REQUIRES: a kernel. NotSupported if its parameters cannot be told apart.
absl::StatusOr<KernelTemplate> ReadTemplate(Context& context, cudaGraphNode_t node);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NODE_PARAMS_H_
