// Each call asks the plan, then the wrapped graph or executable.
#include "device/fault/fault_graph.h"

#include "device/base/status_macros.h"
#include "device/fault/fault_stream.h"

namespace graphtree {

absl::Status FaultExecutable::Launch(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Executable.Launch"));
  return wrapped_->Launch(FaultStream::Unwrap(stream));
}

absl::Status FaultExecutable::Upload(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Executable.Upload"));
  return wrapped_->Upload(FaultStream::Unwrap(stream));
}

absl::StatusOr<UpdateResult> FaultExecutable::Update(const Graph& graph) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Executable.Update"));
  return wrapped_->Update(FaultGraph::Unwrap(graph));
}

absl::Status FaultExecutable::PatchKernel(OpId op, const Kernel& kernel, const LaunchShape& shape,
                                          Arguments arguments) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Executable.PatchKernel"));
  return wrapped_->PatchKernel(op, kernel, shape, arguments);
}

absl::Status FaultExecutable::PatchArgumentBytes(OpId op, absl::Span<const uint8_t> bytes) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Executable.PatchArgumentBytes"));
  return wrapped_->PatchArgumentBytes(op, bytes);
}

absl::Status FaultExecutable::PatchCopy(OpId op, const CopyParams& params) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Executable.PatchCopy"));
  return wrapped_->PatchCopy(op, params);
}

absl::Status FaultExecutable::PatchFill(OpId op, const FillParams& params) {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Executable.PatchFill"));
  return wrapped_->PatchFill(op, params);
}

const Graph& FaultGraph::Unwrap(const Graph& graph) {
  const auto* ours = dynamic_cast<const FaultGraph*>(&graph);
  return ours != nullptr ? *ours->wrapped_ : graph;
}

absl::StatusOr<std::unique_ptr<Executable>> FaultGraph::Instantiate() const {
  GRAPHTREE_RETURN_IF_ERROR(plan_->Enter("Graph.Instantiate"));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, wrapped_->Instantiate());
  return std::make_unique<FaultExecutable>(device_, plan_, std::move(executable));
}

}  // namespace graphtree
