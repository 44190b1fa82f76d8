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

namespace graphtree {

OpToken TokenOf(cudaGraphNode_t node, uint64_t capture_id) {
  constexpr int kAddressBits = 48;
  return {AddressOf(node) ^ (capture_id << kAddressBits)};
}

absl::StatusOr<std::unique_ptr<Graph>> CudaGraph::Make(std::shared_ptr<Context> context,
                                                       Device& device, GraphHandle native,
                                                       uint64_t capture_id) {
  ContextScope current(context->primary());
  GRAPHTREE_ASSIGN_OR_RETURN(GraphListing listing, ListGraph(*context, native.get()));
  return std::unique_ptr<Graph>(new CudaGraph(std::move(context), device, std::move(native),
                                              std::move(listing), capture_id));
}

CudaGraph::CudaGraph(std::shared_ptr<Context> context, Device& device, GraphHandle native,
                     GraphListing listing, uint64_t capture_id)
    : context_(std::move(context), Kind::kGraph),
      device_(device),
      native_(std::move(native)),
      listing_(std::move(listing)),
      alive_(std::make_shared<std::atomic<bool>>(true)) {
  by_token_.reserve(listing_.natives.size());
  for (OpId id = 0; id < listing_.natives.size(); ++id) {
    by_token_.emplace(TokenOf(listing_.natives[id].node, capture_id).value, id);
  }
}

CudaGraph::~CudaGraph() {
  alive_->store(false, std::memory_order_release);
  ContextScope current(context_->primary());
  native_.reset();
}

absl::StatusOr<OpId> CudaGraph::Find(OpToken token) const {
  const auto found = by_token_.find(token.value);
  if (found != by_token_.end()) return found->second;
  return DeviceError(ErrorCode::kNotFound,
                     absl::StrCat("looking for an op of another capture in a graph of ",
                                  listing_.ops.size(), " ops of ", context_->name()));
}

absl::StatusOr<std::unique_ptr<Executable>> CudaGraph::Instantiate() const {
  GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  const auto what = [&] {
    return absl::StrCat("instantiating a graph of ", listing_.ops.size(), " ops on ",
                        context_->name());
  };
  size_t free_before = 0;
  size_t free_after = 0;
  size_t total = 0;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), cudaMemGetInfo(&free_before, &total), what));
  cudaGraphExec_t native = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), cudaGraphInstantiate(&native, native_.get(), 0), what));
  GraphExecHandle executable(native);
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context_->health(), cudaMemGetInfo(&free_after, &total), what));
  // Others give memory back at the same time: then nothing was measured.
  const uint64_t bytes = free_before > free_after ? free_before - free_after : 0;
  return std::unique_ptr<Executable>(std::make_unique<CudaExecutable>(
      context_.shared(), device_, std::move(executable), *this, alive_, bytes));
}

}  // namespace graphtree
