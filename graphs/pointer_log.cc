// Arguments with a mark become slots of the op that was captured last.
#include "graphs/pointer_log.h"

#include <utility>

#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree {

void PointerLog::Accessed(Access access, const Tensor& tensor, int argument) {
  AccessLog::Accessed(access, tensor, argument);
  if (argument < 0 || tensor.storage() == nullptr) return;
  for (const MarkedInput& marked : marked_) {
    if (marked.mark.storage() != tensor.storage()) continue;
    pending_.push_back({marked.input, static_cast<uint32_t>(argument),
                        tensor.word() - marked.mark.word()});
  }
}

void PointerLog::Add(PointerOp op) {
  op.slots() = std::move(pending_);
  pending_.clear();
  const absl::StatusOr<std::vector<OpToken>> frontier = stream_.CaptureFrontier();
  if (!frontier.ok()) {
    status_.Update(frontier.status());
    return;
  }
  GRAPHTREE_CHECK(frontier->size() == 1) << "a launch left " << frontier->size() << " ends";
  ops_.push_back(std::move(op));
  tokens_.push_back(frontier->front());
}

void PointerLog::Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  AccessLog::Launched(kernel, shape, arguments);
  if (!pending_.empty()) Add(PointerOp(kernel, shape, arguments));
}

void PointerLog::Copied(const CopyParams& params) {
  AccessLog::Copied(params);
  if (params.bytes == 0) pending_.clear();  // captures nothing
  if (!pending_.empty()) Add(PointerOp(params));
}

void PointerLog::Filled(const FillParams& params) {
  AccessLog::Filled(params);
  if (params.count == 0) pending_.clear();
  if (!pending_.empty()) Add(PointerOp(params));
}

absl::StatusOr<std::vector<PointerOp>> PointerLog::Take(const Graph& graph) {
  GRAPHTREE_RETURN_IF_ERROR(status_);
  for (size_t i = 0; i < ops_.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(const OpId id, graph.Find(tokens_[i]));
    ops_[i].set_id(id);
  }
  return std::move(ops_);
}

}  // namespace graphtree
