// Making, searching and instantiating a graph.
#include "device/cuda/cuda_graph.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_executable.h"
#include "device/cuda/cuda_status.h"
#include "device/error.h"
#include "device/launch_gate.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<Graph>> CudaGraph::Make(std::shared_ptr<Context> context,
                                                       Device& device, GraphHandle native,
                                                       uint64_t capture_id, KeptByGraph kept) {
  ContextScope current(context->primary());
  GRAPHTREE_ASSIGN_OR_RETURN(
      std::shared_ptr<NativeGraph> graph,
      NativeGraph::Make(*context, std::move(native), capture_id, std::move(kept)));
  return std::unique_ptr<Graph>(new CudaGraph(std::move(context), device, std::move(graph)));
}

CudaGraph::CudaGraph(std::shared_ptr<Context> context, Device& device,
                     std::shared_ptr<NativeGraph> native)
    : context_(std::move(context), Kind::kGraph),
      device_(device),
      native_(std::move(native)) {}

CudaGraph::~CudaGraph() {
  ContextScope current(context_->primary());
  native_.reset();
}

const std::vector<Op>& CudaGraph::ops() const {
  static const auto* const none = new std::vector<Op>();
  ContextScope current(context_->primary());
  const absl::StatusOr<const std::vector<Op>*> listed = native_->Ops(*context_);
  return listed.ok() ? **listed : *none;
}

absl::StatusOr<OpId> CudaGraph::Find(OpToken token) const {
  ContextScope current(context_->primary());
  return native_->Find(*context_, token);
}

absl::StatusOr<cudaGraphNode_t> CudaGraph::NodeOf(OpId op) const {
  if (op >= op_count()) {
    return DeviceError(ErrorCode::kInvalidValue, absl::StrCat("asking for op ", op,
                                                              " of a graph of ", op_count(),
                                                              " ops"));
  }
  ContextScope current(context_->primary());
  return native_->NodeOf(*context_, op);
}

absl::StatusOr<std::unique_ptr<Executable>> CudaGraph::Instantiate() const {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  LaunchPlace place;
  const LaunchPass pass(place);
  cudaGraphExec_t native = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), cudaGraphInstantiate(&native, native_->get(), 0), [&] {
        return absl::StrCat("instantiating a graph of ", op_count(), " ops on ",
                            context_->name());
      }));
  return std::unique_ptr<Executable>(std::make_unique<CudaExecutable>(
      context_.shared(), device_, GraphExecHandle(native), *this));
}

}  // namespace graphtree
