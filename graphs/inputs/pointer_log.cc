// Arguments with a mark become slots of the op that was captured last.
#include "graphs/inputs/pointer_log.h"

#include <iterator>
#include <utility>

#include "device/base/check.h"
#include "device/base/status_macros.h"

namespace graphtree {

std::vector<InputRange> PointerLog::RangesOf(const std::vector<MarkedInput>& marked) {
  std::vector<InputRange> ranges;
  for (const MarkedInput& one : marked) ranges.push_back({one.input, one.mark.raw_bytes()});
  return ranges;
}

void PointerLog::Accessed(Access access, const Tensor& tensor, int argument) {
  AccessLog::Accessed(access, tensor, argument);
  if (argument < 0 || tensor.storage() == nullptr) return;
  const uint32_t place = static_cast<uint32_t>(argument);
  for (const MarkedInput& marked : marked_) {
    if (marked.mark.storage() != tensor.storage()) continue;
    pending_.push_back({marked.input, place, tensor.word() - marked.mark.word()});
    pending_serials_.push_back(0);
    return;
  }
  if (!list_all_) return;
  pending_.push_back({kNobody, place, tensor.word()});
  pending_serials_.push_back(tensor.storage()->serial);
}

void PointerLog::Forget() {
  pending_.clear();
  pending_serials_.clear();
}

void PointerLog::Claim(uint64_t serial, Address base, uint32_t input) {
  const auto claim = [&](const std::vector<uint64_t>& serials, std::vector<PointerSlot>* slots) {
    for (size_t i = 0; i < serials.size(); ++i) {
      if (serials[i] != serial) continue;
      (*slots)[i].input = input;
      (*slots)[i].offset -= base;
    }
  };
  for (size_t op = 0; op < ops_.size(); ++op) claim(serials_[op], &ops_[op].slots());
  for (size_t i = 0; i < breaks_.size(); ++i) claim(break_serials_[i], &breaks_[i]);
}

void PointerLog::Add(PointerOp op) {
  op.slots() = pending_;
  serials_.push_back(pending_serials_);
  Forget();
  const absl::StatusOr<std::vector<OpToken>> frontier = stream_.CaptureFrontier();
  if (!frontier.ok()) {
    status_.Update(frontier.status());
    serials_.pop_back();
    return;
  }
  GRAPHTREE_CHECK(frontier->size() == 1) << "a launch left " << frontier->size() << " ends";
  ops_.push_back(std::move(op));
  tokens_.push_back(frontier->front());
}

void PointerLog::Launched(const Kernel& kernel, const LaunchShape& shape, Arguments arguments) {
  AccessLog::Launched(kernel, shape, arguments);
  search_.Launched(arguments, pending_);
  if (!pending_.empty()) Add(PointerOp(kernel, shape, arguments));
}

void PointerLog::Copied(const CopyParams& params) {
  AccessLog::Copied(params);
  search_.Copied(params, pending_);
  if (params.bytes == 0) Forget();  // such a copy captures no op
  if (!pending_.empty()) Add(PointerOp(params));
}

void PointerLog::Filled(const FillParams& params) {
  AccessLog::Filled(params);
  search_.Filled(params, pending_);
  if (params.count == 0) Forget();
  if (!pending_.empty()) Add(PointerOp(params));
}

void PointerLog::Broke(absl::string_view why) {
  AccessLog::Broke(why);
  breaks_.push_back(pending_);
  break_serials_.push_back(pending_serials_);
  Forget();
}

absl::Status PointerLog::EndSection(const Graph& graph, uint64_t own) {
  GRAPHTREE_RETURN_IF_ERROR(status_);
  seen_all_.push_back(search_.EndSection(graph.op_count(), own));
  for (size_t i = ends_.empty() ? 0 : ends_.back(); i < ops_.size(); ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(const OpId id, graph.Find(tokens_[i]));
    ops_[i].set_id(id);
  }
  ends_.push_back(ops_.size());
  return absl::OkStatus();
}

std::vector<std::vector<PointerOp>> PointerLog::Take() {
  std::vector<std::vector<PointerOp>> sections;
  size_t begin = 0;
  for (const size_t end : ends_) {
    sections.emplace_back(std::make_move_iterator(ops_.begin() + begin),
                          std::make_move_iterator(ops_.begin() + end));
    begin = end;
  }
  return sections;
}

}  // namespace graphtree
