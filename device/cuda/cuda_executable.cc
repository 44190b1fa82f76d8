// Launching, updating and patching.
#include "device/cuda/cuda_executable.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/argument_pointers.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/launch_checks.h"
#include "device/cuda/node_params.h"
#include "device/error.h"

namespace graphtree {
namespace {

// Cheaper than ArgumentMismatch, which writes a sentence.
bool ArgumentsFit(const Kernel& kernel, Arguments arguments) {
  const std::vector<uint32_t>& wanted = kernel.parameter_bytes();
  if (arguments.size() != wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (arguments[i].bytes() != wanted[i]) return false;
  }
  return true;
}

UpdateResult ResultOf(cudaGraphExecUpdateResult result) {
  switch (result) {
    case cudaGraphExecUpdateSuccess: return UpdateResult::kUpdated;
    case cudaGraphExecUpdateErrorTopologyChanged:
    case cudaGraphExecUpdateErrorNodeTypeChanged: return UpdateResult::kTopologyDiffers;
    default: return UpdateResult::kOpNotUpdatable;
  }
}

}  // namespace

CudaExecutable::CudaExecutable(std::shared_ptr<Context> context, Device& device,
                               GraphExecHandle native, const CudaGraph& graph)
    : context_(std::move(context), Kind::kExecutable),
      device_(device),
      kept_(graph.shared_native()->kept()),
      native_(std::move(native)),
      place_(native_.get()),
      made_from_(graph.shared_native()),
      runs_(made_from_),
      op_count_(graph.op_count()) {}

CudaExecutable::~CudaExecutable() {
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  const LaunchPass pass(place_);
  native_.reset();
  runs_ = nullptr;
  made_from_ = nullptr;
  kept_.clear();
}

absl::Status CudaExecutable::OtherDevice(const char* what) const {
  return DeviceError(ErrorCode::kInvalidHandle,
                     absl::StrCat(what, " of another device with an executable of ",
                                  context_->name()));
}

absl::Status CudaExecutable::Launch(Stream& stream) {
  if (&stream.device() != &device_) return OtherDevice("launching on a stream");
  if (context_->health().lost()) return context_->health().status();
  const cudaStream_t on = static_cast<CudaStream&>(stream).native();
  ContextScope current(context_->primary());
  const LaunchPass pass(place_);
  return ToStatus(context_->health(), context_->driver().GraphLaunch(native_.get(), on), [&] {
    return absl::StrCat("launching an executable of ", op_count_, " ops on ",
                        context_->name());
  });
}

absl::Status CudaExecutable::Upload(Stream& stream) {
  if (&stream.device() != &device_) return OtherDevice("uploading on a stream");
  if (context_->health().lost()) return context_->health().status();
  const cudaStream_t on = static_cast<CudaStream&>(stream).native();
  ContextScope current(context_->primary());
  const LaunchPass pass(place_);
  return ToStatus(context_->health(), cudaGraphUpload(native_.get(), on), [&] {
    return absl::StrCat("uploading an executable of ", op_count_, " ops on ",
                        context_->name());
  });
}

absl::StatusOr<bool> CudaExecutable::MayBecome(const CudaGraph& other) {
  GRAPHTREE_ASSIGN_OR_RETURN(const bool is_plain, made_from_->IsPlain(*context_));
  return is_plain ? other.shared_native()->IsPlain(*context_) : false;
}

absl::StatusOr<UpdateResult> CudaExecutable::Update(const Graph& graph) {
  if (&graph.device() != &device_) return OtherDevice("updating to a graph");
  if (context_->health().lost()) return context_->health().status();
  const auto& other = static_cast<const CudaGraph&>(graph);
  if (other.op_count() != op_count_) return UpdateResult::kTopologyDiffers;
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  GRAPHTREE_ASSIGN_OR_RETURN(const bool may, MayBecome(other));
  if (!may) return UpdateResult::kOpNotUpdatable;
  const LaunchPass pass(place_);
  cudaGraphExecUpdateResultInfo info = {};
  const cudaError_t error = cudaGraphExecUpdate(native_.get(), other.native(), &info);
  if (error == cudaErrorGraphExecUpdateFailure && info.result != cudaGraphExecUpdateError) {
    cudaGetLastError();
    return ResultOf(info.result);
  }
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(context_->health(), error, [&] {
    return absl::StrCat("updating an executable of ", op_count_, " ops to a graph of ",
                        other.op_count(), " on ", context_->name());
  }));
  // An op may now run another function than the one that it was captured with.
  runs_ = other.shared_native();
  // Launches in flight may still set the events that the ops set before.
  for (const auto& object : runs_->kept()) {
    if (std::find(kept_.begin(), kept_.end(), object) == kept_.end()) kept_.push_back(object);
  }
  for (PatchSlot& slot : slots_) {
    slot.function = nullptr;
    slot.kernel_id = 0;
    slot.by_bytes = nullptr;
  }
  return UpdateResult::kUpdated;
}

absl::Status CudaExecutable::MayPatch(OpId op, OpKind kind) {
  if (__builtin_expect(context_->health().lost(), 0)) return context_->health().status();
  const bool good = op < slot_of_.size() && slot_of_[op] != 0 && SlotOf(op).kind == kind;
  return __builtin_expect(good, 1) ? absl::OkStatus() : MayPatchFirst(op, kind);
}

// No slot yet, or a wrong patch.
absl::Status CudaExecutable::MayPatchFirst(OpId op, OpKind kind) {
  const auto what = [&] {
    return absl::StrCat("patching ", OpKindName(kind), " op ", op, " of an executable of ",
                        op_count_, " ops");
  };
  if (op >= op_count_) {
    return DeviceError(ErrorCode::kInvalidValue, absl::StrCat(what(), ": there is no such op"));
  }
  if (slot_of_.empty()) slot_of_.resize(op_count_, 0);
  if (slot_of_[op] == 0) GRAPHTREE_RETURN_IF_ERROR(MakeSlot(op));
  if (SlotOf(op).kind == kind) return absl::OkStatus();
  return DeviceError(ErrorCode::kInvalidValue, absl::StrCat(what(), ": the op is of the kind ",
                                                            OpKindName(SlotOf(op).kind)));
}

absl::Status CudaExecutable::MakeSlot(OpId op) {
  ContextScope current(context_->primary());
  PatchSlot slot;
  GRAPHTREE_ASSIGN_OR_RETURN(slot.node, made_from_->NodeOf(*context_, op));
  GRAPHTREE_ASSIGN_OR_RETURN(slot.kind, ReadKind(*context_, slot.node));
  slots_.push_back(std::move(slot));
  slot_of_[op] = static_cast<uint32_t>(slots_.size());
  return absl::OkStatus();
}

absl::Status CudaExecutable::MatchKernel(OpId op, const Kernel& kernel) {
  PatchSlot& slot = SlotOf(op);
  GRAPHTREE_ASSIGN_OR_RETURN(LoadedKernel * loaded, context_->kernels().Get(kernel));
  if (slot.function == nullptr) {
    ContextScope current(context_->primary());
    GRAPHTREE_ASSIGN_OR_RETURN(const cudaGraphNode_t node, runs_->NodeOf(*context_, op));
    GRAPHTREE_ASSIGN_OR_RETURN(slot.function, ReadFunction(*context_, node));
  }
  if (loaded->function() != slot.function) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("patching op ", op, " with kernel ", kernel.name(),
                                    ": another one was captured there, ",
                                    context_->kernels().NameOf(slot.function)));
  }
  slot.kernel_id = kernel.id();
  slot.loaded = loaded;
  return absl::OkStatus();
}

// Whether the op starts early is a matter of the graph's edges, so the shape's word on it is not
// read.
absl::Status CudaExecutable::PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                                         Arguments arguments) {
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kKernel));
  PatchSlot& slot = SlotOf(op);
  if (slot.kernel_id != kernel.id()) GRAPHTREE_RETURN_IF_ERROR(MatchKernel(op, kernel));
  if (!ArgumentsFit(kernel, arguments)) {
    return DeviceError(ErrorCode::kInvalidValue, ArgumentMismatch(kernel, arguments));
  }
  if (!ShapeFits(shape)) {
    return DeviceError(ErrorCode::kInvalidConfiguration,
                       absl::StrCat("patching op ", op, " (kernel ", kernel.name(),
                                    "): ", ShapeFlaw(shape)));
  }
  if (!slot.loaded->Allows(shape.shared_bytes)) {
    GRAPHTREE_RETURN_IF_ERROR(context_->kernels().AllowShared(*slot.loaded, shape.shared_bytes));
  }
  ArgumentPointers pointers(arguments);
  CUDA_KERNEL_NODE_PARAMS_v2 params;
  params.func = slot.function;
  params.gridDimX = shape.grid.x;
  params.gridDimY = shape.grid.y;
  params.gridDimZ = shape.grid.z;
  params.blockDimX = shape.block.x;
  params.blockDimY = shape.block.y;
  params.blockDimZ = shape.block.z;
  params.sharedMemBytes = shape.shared_bytes;
  params.kernelParams = pointers.data();
  params.extra = nullptr;
  params.kern = nullptr;
  params.ctx = nullptr;
  ContextScope current(context_->primary());
  const LaunchPass pass(place_);
  return ToStatus(
      context_->health(),
      context_->driver().GraphExecKernelNodeSetParams(native_.get(), slot.node, &params), [&] {
        return absl::StrCat("patching op ", op, " (kernel ", kernel.name(), ") on ",
                            context_->name());
      });
}

absl::Status CudaExecutable::PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) {
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kKernel));
  PatchSlot& slot = SlotOf(op);
  ContextScope current(context_->primary());
  if (slot.by_bytes == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(const cudaGraphNode_t node, runs_->NodeOf(*context_, op));
    GRAPHTREE_ASSIGN_OR_RETURN(KernelTemplate read, ReadTemplate(*context_, node));
    slot.by_bytes = std::make_unique<KernelTemplate>(std::move(read));
  }
  KernelTemplate& kernel = *slot.by_bytes;
  if (bytes.size() != kernel.argument_bytes) {
    return DeviceError(ErrorCode::kInvalidValue,
                       absl::StrCat("patching op ", op, " with ", bytes.size(),
                                    " bytes of arguments: it takes ", kernel.argument_bytes));
  }
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    kernel.pointers[i] = const_cast<uint8_t*>(bytes.data()) + kernel.parameters[i].offset;
  }
  kernel.params.kernelParams = kernel.pointers.data();
  const LaunchPass pass(place_);
  return ToStatus(
      context_->health(),
      context_->driver().GraphExecKernelNodeSetParams(native_.get(), slot.node, &kernel.params),
      [&] {
        return absl::StrCat("patching op ", op, " with ", bytes.size(),
                            " bytes of arguments on ", context_->name());
      });
}

absl::Status CudaExecutable::PatchCopy(OpId op, const CopyParams& params) {
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kCopy));
  ContextScope current(context_->primary());
  const LaunchPass pass(place_);
  return ToStatus(context_->health(),
                  cudaGraphExecMemcpyNodeSetParams1D(
                      native_.get(), SlotOf(op).node, PointerTo(params.target),
                      PointerTo(params.source), params.bytes, cudaMemcpyDefault),
                  [&] {
                    return absl::StrCat("patching copy op ", op, " to ", params.bytes,
                                        " bytes from 0x", absl::Hex(params.source), " to 0x",
                                        absl::Hex(params.target), " on ", context_->name());
                  });
}

absl::Status CudaExecutable::PatchFill(OpId op, const FillParams& params) {
  GRAPHTREE_RETURN_IF_ERROR(MayPatch(op, OpKind::kFill));
  const std::string flaw = FillFlaw(params);
  if (!flaw.empty()) {
    return DeviceError(ErrorCode::kInvalidValue, absl::StrCat("patching fill op ", op, ": ", flaw));
  }
  CUDA_MEMSET_NODE_PARAMS_v1 native = {};
  native.dst = params.target;
  native.value = params.value;
  native.elementSize = params.width;
  native.width = params.count;
  native.height = 1;
  ContextScope current(context_->primary());
  const LaunchPass pass(place_);
  return ToStatus(context_->health(),
                  context_->driver().GraphExecMemsetNodeSetParams(
                      native_.get(), SlotOf(op).node, &native, context_->primary().native()),
                  [&] {
                    return absl::StrCat("patching fill op ", op, " to ", params.count, " x ",
                                        params.width, " bytes at 0x", absl::Hex(params.target),
                                        " on ", context_->name());
                  });
}

}  // namespace graphtree
