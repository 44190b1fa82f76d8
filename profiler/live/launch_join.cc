// Opens launches, hands ops on, closes what is whole.
#include "profiler/live/launch_join.h"

namespace graphtree::live {
namespace {

bool HasKnownCount(const LaunchedGraph& launched) {
  return launched.graph != nullptr && launched.graph->is_complete;
}

}  // namespace

void LaunchJoin::Launched(LaunchedGraph launched) {
  const uint64_t correlation = launched.correlation;
  if (open_.size() >= kOpenLaunches) CloseOldest();
  if (order_.size() >= 2 * kOpenLaunches) ForgetClosed();
  const auto [place, is_new] = open_.insert_or_assign(correlation, Open{std::move(launched), 0});
  if (is_new) order_.push_back(correlation);
  const auto waits = waiting_for_.find(correlation);
  if (waits == waiting_for_.end()) return CloseIfWhole(correlation, place->second);
  waiting_for_.erase(waits);
  std::deque<Waiting> others;
  for (Waiting& waiting : waiting_) {
    if (waiting.op.correlation == correlation) {
      Join(place->second, waiting.op);
    } else {
      others.push_back(std::move(waiting));
    }
  }
  waiting_ = std::move(others);
  CloseIfWhole(correlation, place->second);
}

void LaunchJoin::Op(const trace::DeviceOp& op) {
  const auto found = open_.find(op.correlation);
  if (found != open_.end()) {
    Join(found->second, op);
    return CloseIfWhole(op.correlation, found->second);
  }
  if (waiting_.size() >= kWaitingOps) {
    LetGo(waiting_.front());
    waiting_.pop_front();
  }
  waiting_.push_back({turn_, op});
  waiting_.back().op.extras = {};  // valid during the call only
  ++waiting_for_[op.correlation];
}

void LaunchJoin::Turn() {
  while (!waiting_.empty() && waiting_.front().turn < turn_) {
    LetGo(waiting_.front());
    waiting_.pop_front();
  }
  ++turn_;
}

void LaunchJoin::End() {
  for (const Waiting& waiting : waiting_) LetGo(waiting);
  waiting_.clear();
  for (const auto& [correlation, open] : open_) {
    if (!HasKnownCount(open.launched)) continue;
    const auto whole = whole_.find(open.launched.stream);
    const bool is_passed = whole != whole_.end() && whole->second > open.launched.launch;
    ++(is_passed ? counts_.short_launches : counts_.cut_launches);
  }
  open_.clear();
  order_.clear();
}

void LaunchJoin::Join(Open& open, trace::DeviceOp op) {
  const LaunchedGraph& launched = open.launched;
  const uint32_t node = trace::LocalNode(op.graph_node);
  const NamedGraph* const graph = launched.graph.get();
  op.correlation = launched.launch;
  const bool is_other = launched.executable != 0 && op.graph != launched.executable;
  if (graph == nullptr) {
    ++counts_.unnamed;
  } else if (is_other || node >= graph->ops.size() || !graph->is_work[node]) {
    ++counts_.mismatched;
  } else if (graph->ops[node] == 0) {
    ++counts_.unnamed;
  } else {
    ++open.seen;
    ++counts_.joined;
    op.identity = graph->ops[node];
  }
  sink_(op);
}

void LaunchJoin::CloseIfWhole(uint64_t correlation, const Open& open) {
  const LaunchedGraph& launched = open.launched;
  if (!HasKnownCount(launched) || open.seen < launched.graph->work) return;
  uint64_t& whole = whole_[launched.stream];
  if (whole < launched.launch) whole = launched.launch;
  open_.erase(correlation);
}

void LaunchJoin::CloseOldest() {
  while (!order_.empty()) {
    const auto oldest = open_.find(order_.front());
    order_.pop_front();
    if (oldest == open_.end()) continue;
    if (HasKnownCount(oldest->second.launched)) ++counts_.short_launches;
    open_.erase(oldest);
    return;
  }
}

void LaunchJoin::ForgetClosed() {
  std::deque<uint64_t> open;
  for (const uint64_t correlation : order_) {
    if (open_.contains(correlation)) open.push_back(correlation);
  }
  order_ = std::move(open);
}

void LaunchJoin::LetGo(const Waiting& waiting) {
  const auto waits = waiting_for_.find(waiting.op.correlation);
  if (waits != waiting_for_.end() && --waits->second == 0) waiting_for_.erase(waits);
  ++counts_.without_launch;
  trace::DeviceOp op = waiting.op;
  op.correlation |= kForeign;
  sink_(op);
}

}  // namespace graphtree::live
