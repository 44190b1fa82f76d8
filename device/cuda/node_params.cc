// Kernels, copies and fills in detail; of other nodes only the kind.
#include "device/cuda/node_params.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_status.h"
#include "device/error.h"

namespace graphtree {
namespace {

OpKind KindOf(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel: return OpKind::kKernel;
    case cudaGraphNodeTypeMemcpy: return OpKind::kCopy;
    case cudaGraphNodeTypeMemset: return OpKind::kFill;
    case cudaGraphNodeTypeHost: return OpKind::kHost;
    case cudaGraphNodeTypeGraph: return OpKind::kChildGraph;
    case cudaGraphNodeTypeEmpty: return OpKind::kEmpty;
    case cudaGraphNodeTypeWaitEvent: return OpKind::kEventWait;
    case cudaGraphNodeTypeEventRecord: return OpKind::kEventRecord;
    case cudaGraphNodeTypeMemAlloc: return OpKind::kAllocate;
    case cudaGraphNodeTypeMemFree: return OpKind::kFree;
    case cudaGraphNodeTypeConditional: return OpKind::kConditional;
    default: return OpKind::kOther;
  }
}

// A function knows its parameters by index; the first index it does not know ends the list.
const std::vector<ParamSlot>& LayoutOf(const Driver& driver, CUfunction function,
                                       ParameterLayouts& layouts) {
  auto [place, fresh] = layouts.try_emplace(function);
  if (!fresh) return place->second;
  size_t offset = 0;
  size_t bytes = 0;
  for (size_t i = 0; driver.FuncGetParamInfo(function, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
    place->second.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
  }
  return place->second;
}

// A launch may have brought its arguments as one packed block instead of one pointer each.
void ReadPackedBlock(void* const* extra, std::vector<uint8_t>* bytes) {
  const void* block = nullptr;
  size_t size = 0;
  for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) block = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const size_t*>(extra[i + 1]);
    }
  }
  if (block == nullptr) return;
  const auto* first = static_cast<const uint8_t*>(block);
  bytes->assign(first, first + size);
}

void ReadArguments(const CUDA_KERNEL_NODE_PARAMS_v2& params, Op* op) {
  if (!op->parameters.empty()) {
    const ParamSlot& last = op->parameters.back();
    op->argument_bytes.assign(last.offset + last.bytes, 0);
  }
  if (params.kernelParams != nullptr) {
    for (size_t i = 0; i < op->parameters.size(); ++i) {
      std::memcpy(op->argument_bytes.data() + op->parameters[i].offset, params.kernelParams[i],
                  op->parameters[i].bytes);
    }
  } else if (params.extra != nullptr) {
    ReadPackedBlock(params.extra, &op->argument_bytes);
  }
}

struct KernelNode {
  CUDA_KERNEL_NODE_PARAMS_v2 params = {};
  CUfunction function = nullptr;
};

absl::StatusOr<KernelNode> AskKernel(Context& context, cudaGraphNode_t node) {
  const Driver& driver = context.driver();
  const auto what = [] { return std::string("reading a kernel op of a graph"); };
  KernelNode kernel;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context.health(), driver.GraphKernelNodeGetParams(node, &kernel.params), what));
  kernel.function = kernel.params.func;
  if (kernel.function == nullptr) {
    GRAPHTREE_RETURN_IF_ERROR(ToStatus(
        context.health(), driver.KernelGetFunction(&kernel.function, kernel.params.kern), what));
  }
  return kernel;
}

absl::Status ReadKernel(Context& context, cudaGraphNode_t node, ParameterLayouts& layouts,
                        Op* op) {
  const Driver& driver = context.driver();
  GRAPHTREE_ASSIGN_OR_RETURN(const KernelNode kernel, AskKernel(context, node));
  const CUDA_KERNEL_NODE_PARAMS_v2& params = kernel.params;
  const CUfunction function = kernel.function;
  op->name = context.kernels().NameOf(function);
  if (op->name.empty()) {
    const char* name = nullptr;
    const CUresult named = driver.FuncGetName(&name, function);
    op->name = named == CUDA_SUCCESS && name != nullptr ? name : "kernel";
  }
  op->shape.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  op->shape.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  op->shape.shared_bytes = params.sharedMemBytes;
  op->parameters = LayoutOf(driver, function, layouts);
  ReadArguments(params, op);
  return absl::OkStatus();
}

// Only copies of one row between plain memory have the three numbers that an Op shows.
absl::Status ReadCopy(Context& context, cudaGraphNode_t node, Op* op) {
  CUDA_MEMCPY3D copy = {};
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context.health(), context.driver().GraphMemcpyNodeGetParams(node, &copy),
               [] { return std::string("reading a copy op of a graph"); }));
  const bool flat = copy.Height <= 1 && copy.Depth <= 1 &&
                    copy.srcMemoryType != CU_MEMORYTYPE_ARRAY &&
                    copy.dstMemoryType != CU_MEMORYTYPE_ARRAY;
  if (!flat) return absl::OkStatus();
  const Address source = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? AddressOf(copy.srcHost)
                                                                  : Address{copy.srcDevice};
  const Address target = copy.dstMemoryType == CU_MEMORYTYPE_HOST ? AddressOf(copy.dstHost)
                                                                  : Address{copy.dstDevice};
  op->copy = {target + copy.dstXInBytes, source + copy.srcXInBytes, copy.WidthInBytes};
  return absl::OkStatus();
}

absl::Status ReadFill(Context& context, cudaGraphNode_t node, Op* op) {
  CUDA_MEMSET_NODE_PARAMS_v1 fill = {};
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context.health(), context.driver().GraphMemsetNodeGetParams(node, &fill),
               [] { return std::string("reading a fill op of a graph"); }));
  if (fill.height > 1) return absl::OkStatus();
  op->fill = {fill.dst, fill.value, fill.elementSize, fill.width};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpKind> ReadKind(Context& context, cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context.health(), cudaGraphNodeGetType(node, &type),
               [] { return std::string("asking for the type of an op of a graph"); }));
  return KindOf(type);
}

absl::StatusOr<CUfunction> ReadFunction(Context& context, cudaGraphNode_t node) {
  GRAPHTREE_ASSIGN_OR_RETURN(const KernelNode kernel, AskKernel(context, node));
  return kernel.function;
}

absl::StatusOr<KernelTemplate> ReadTemplate(Context& context, cudaGraphNode_t node) {
  GRAPHTREE_ASSIGN_OR_RETURN(const KernelNode kernel, AskKernel(context, node));
  KernelTemplate made;
  made.params = kernel.params;
  ParameterLayouts layouts;
  made.parameters = LayoutOf(context.driver(), kernel.function, layouts);
  if (made.parameters.empty() || kernel.params.kernelParams == nullptr) {
    return DeviceError(ErrorCode::kNotSupported,
                       absl::StrCat("the arguments of a captured kernel are ",
                                    kernel.params.extra != nullptr ? "one packed block" : "none",
                                    ": they cannot be patched by their bytes"));
  }
  made.argument_bytes = made.parameters.back().offset + made.parameters.back().bytes;
  made.pointers.resize(made.parameters.size());
  made.params.kernelParams = nullptr;  // they belong to the graph's own node
  made.params.extra = nullptr;
  return made;
}

absl::Status ReadNode(Context& context, cudaGraphNode_t node, ParameterLayouts& layouts, Op* op) {
  GRAPHTREE_ASSIGN_OR_RETURN(op->kind, ReadKind(context, node));
  op->name = OpKindName(op->kind);
  switch (op->kind) {
    case OpKind::kKernel: return ReadKernel(context, node, layouts, op);
    case OpKind::kCopy: return ReadCopy(context, node, op);
    case OpKind::kFill: return ReadFill(context, node, op);
    case OpKind::kHost:
    case OpKind::kEmpty:
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kChildGraph:
    case OpKind::kAllocate:
    case OpKind::kFree:
    case OpKind::kConditional:
    case OpKind::kOther: return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace graphtree
