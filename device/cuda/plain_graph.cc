// Reads the attributes of kernel nodes, and of the functions that they run.
#include "device/cuda/plain_graph.h"

#include "absl/container/flat_hash_map.h"
#include "device/base/status_macros.h"
#include "device/cuda/node_params.h"
#include "device/graph.h"

namespace graphtree {
namespace {

// Whether the attribute has the value that a launch without it has.
bool IsUsual(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return value.clusterDim.x == 0 && value.clusterDim.y == 0 && value.clusterDim.z == 0;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return value.cooperative == 0;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return value.deviceUpdatableKernelNode.deviceUpdatable == 0;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return value.accessPolicyWindow.num_bytes == 0;
    default: return false;
  }
}

bool IsPlainLaunch(const Driver& driver, cudaGraphNode_t node) {
  constexpr CUlaunchAttributeID kLookedAt[] = {
      CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
      CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
      CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
      CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
      CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
  };
  for (const CUlaunchAttributeID id : kLookedAt) {
    CUlaunchAttributeValue value = {};
    if (driver.GraphKernelNodeGetAttribute(node, id, &value) != CUDA_SUCCESS) return false;
    if (!IsUsual(id, value)) return false;
  }
  return true;
}

bool IsPlainFunction(const Driver& driver, CUfunction function) {
  constexpr CUfunction_attribute kLookedAt[] = {
      CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
  };
  for (const CUfunction_attribute attribute : kLookedAt) {
    int value = 0;
    if (driver.FuncGetAttribute(&value, attribute, function) != CUDA_SUCCESS) return false;
    if (value != 0) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> IsPlain(Context& context, const std::vector<cudaGraphNode_t>& nodes) {
  absl::flat_hash_map<CUfunction, bool> functions;
  for (const cudaGraphNode_t node : nodes) {
    GRAPHTREE_ASSIGN_OR_RETURN(const OpKind kind, ReadKind(context, node));
    if (kind == OpKind::kChildGraph || kind == OpKind::kConditional) return false;
    if (kind != OpKind::kKernel) continue;
    if (!IsPlainLaunch(context.driver(), node)) return false;
    GRAPHTREE_ASSIGN_OR_RETURN(const CUfunction function, ReadFunction(context, node));
    const auto [known, is_new] = functions.try_emplace(function, false);
    if (is_new) known->second = IsPlainFunction(context.driver(), function);
    if (!known->second) return false;
  }
  return true;
}

}  // namespace graphtree
