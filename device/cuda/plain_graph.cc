// Reads the attributes of kernel nodes.
#include "device/cuda/plain_graph.h"

#include "device/base/status_macros.h"
#include "device/cuda/node_params.h"
#include "device/graph.h"

namespace graphtree {
namespace {

bool IsOne(const decltype(CUlaunchAttributeValue::clusterDim)& cluster) {
  return cluster.x <= 1 && cluster.y <= 1 && cluster.z <= 1;
}

bool IsOne(const decltype(CUlaunchAttributeValue::preferredClusterDim)& cluster) {
  return cluster.x <= 1 && cluster.y <= 1 && cluster.z <= 1;
}

// Whether the attribute has the value that a launch without it has.
bool IsUsual(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: return IsOne(value.clusterDim);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return IsOne(value.preferredClusterDim);
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return value.cooperative == 0;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return value.deviceUpdatableKernelNode.deviceUpdatable == 0;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return value.accessPolicyWindow.num_bytes == 0;
    default: return false;
  }
}

bool IsPlainKernel(const Driver& driver, cudaGraphNode_t node) {
  constexpr CUlaunchAttributeID kLookedAt[] = {
      CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
      CU_LAUNCH_ATTRIBUTE_COOPERATIVE,       CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
      CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,   CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
  };
  for (const CUlaunchAttributeID id : kLookedAt) {
    CUlaunchAttributeValue value = {};
    if (driver.GraphKernelNodeGetAttribute(node, id, &value) != CUDA_SUCCESS) return false;
    if (!IsUsual(id, value)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> IsPlain(Context& context, const std::vector<cudaGraphNode_t>& nodes) {
  for (const cudaGraphNode_t node : nodes) {
    GRAPHTREE_ASSIGN_OR_RETURN(const OpKind kind, ReadKind(context, node));
    if (kind == OpKind::kChildGraph || kind == OpKind::kConditional) return false;
    if (kind == OpKind::kKernel && !IsPlainKernel(context.driver(), node)) return false;
  }
  return true;
}

}  // namespace graphtree
