// Asks the driver for nodes and ops when they are first needed, and once.
#include "device/cuda/native_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/status_macros.h"
#include "device/cuda/graph_listing.h"
#include "device/cuda/plain_graph.h"
#include "device/error.h"

namespace graphtree {

OpToken TokenOf(cudaGraphNode_t node, uint64_t capture_id) {
  constexpr int kAddressBits = 48;
  return {AddressOf(node) ^ (capture_id << kAddressBits)};
}

absl::StatusOr<std::shared_ptr<NativeGraph>> NativeGraph::Make(Context& context,
                                                               GraphHandle handle,
                                                               uint64_t capture_id,
                                                               KeptByGraph kept) {
  GRAPHTREE_ASSIGN_OR_RETURN(const size_t ops, CountNodes(context, handle.get()));
  return std::shared_ptr<NativeGraph>(
      new NativeGraph(std::move(handle), capture_id, ops, std::move(kept)));
}

absl::Status NativeGraph::LearnNodes(Context& context) {
  if (nodes_.size() == op_count_) return absl::OkStatus();
  GRAPHTREE_ASSIGN_OR_RETURN(nodes_, ListNodes(context, get()));
  GRAPHTREE_CHECK(nodes_.size() == op_count_) << nodes_.size() << " nodes, not " << op_count_;
  return absl::OkStatus();
}

absl::StatusOr<cudaGraphNode_t> NativeGraph::NodeOf(Context& context, OpId op) {
  std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_RETURN_IF_ERROR(LearnNodes(context));
  return nodes_[op];
}

absl::StatusOr<OpId> NativeGraph::Find(Context& context, OpToken token) {
  std::lock_guard<std::mutex> lock(mutex_);
  GRAPHTREE_RETURN_IF_ERROR(LearnNodes(context));
  const auto is_it = [&](cudaGraphNode_t node) { return TokenOf(node, capture_id_) == token; };
  // Whoever asks for many ops asks for them in their order.
  auto found = std::find_if(nodes_.begin() + found_last_, nodes_.end(), is_it);
  if (found == nodes_.end()) found = std::find_if(nodes_.begin(), nodes_.end(), is_it);
  if (found != nodes_.end()) {
    found_last_ = static_cast<OpId>(found - nodes_.begin());
    return found_last_;
  }
  return DeviceError(ErrorCode::kNotFound,
                     absl::StrCat("looking for an op of another capture in a graph of ", op_count_,
                                  " ops of ", context.name()));
}

absl::StatusOr<const std::vector<Op>*> NativeGraph::Ops(Context& context) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (ops_ == nullptr) {
    GRAPHTREE_ASSIGN_OR_RETURN(std::vector<Op> listed, ListGraph(context, get()));
    ops_ = std::make_unique<const std::vector<Op>>(std::move(listed));
  }
  return ops_.get();
}

absl::StatusOr<bool> NativeGraph::IsPlain(Context& context) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_plain_.has_value()) {
    GRAPHTREE_RETURN_IF_ERROR(LearnNodes(context));
    GRAPHTREE_ASSIGN_OR_RETURN(is_plain_, graphtree::IsPlain(context, nodes_));
  }
  return *is_plain_;
}

void NativeGraph::Forget() {
  std::lock_guard<std::mutex> lock(mutex_);
  ops_ = nullptr;
  std::vector<cudaGraphNode_t>().swap(nodes_);
}

}  // namespace graphtree
