// Deals out steps, places and blocks.
#include "tools/demo_model/scheduler.h"

#include <utility>

#include "device/base/check.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

size_t BlocksFor(const Request& request) {
  return (request.length() + kBlockTokens - 1) / kBlockTokens;
}

}  // namespace

Scheduler::Scheduler(const std::vector<Request>& requests, int most_requests)
    : most_requests_(most_requests) {
  GRAPHTREE_CHECK(most_requests >= 1 && most_requests <= kMostRequests)
      << most_requests << " requests";
  for (const Request& request : requests) {
    GRAPHTREE_CHECK(CheckRequest(request).ok()) << CheckRequest(request).message();
    waiting_.push_back({static_cast<int>(waiting_.size()), request, {}});
  }
  for (int block = kBlocks; block-- > 0;) free_blocks_.push_back(block);
}

size_t Scheduler::Admit() {
  if (running_.empty() && !waiting_.empty()) {
    clock_ = std::max(clock_, waiting_.front().request.arrival);
  }
  const size_t first = running_.size();
  int tokens = 0;
  while (!waiting_.empty() && running_.size() < most_requests_) {
    Running& next = waiting_.front();
    const size_t blocks = BlocksFor(next.request);
    const size_t admitted = running_.size() - first;
    tokens += next.request.prompt;
    if (next.request.arrival > clock_ || blocks > free_blocks_.size()) break;
    if (admitted == kPrefillRequests || (admitted > 0 && tokens > kPrefillTokens)) break;
    next.blocks.assign(free_blocks_.rbegin(), free_blocks_.rbegin() + blocks);
    free_blocks_.resize(free_blocks_.size() - blocks);
    running_.push_back(std::move(next));
    waiting_.pop_front();
  }
  return first;
}

void Scheduler::Append(const Running& running, bool is_prefill, Batch* batch) const {
  const Request& request = running.request;
  if (is_prefill) {
    for (int i = 0; i < request.prompt; ++i) batch->ids.push_back(PromptToken(request, i));
  } else {
    batch->ids.push_back(running.last_picked);
  }
  batch->starts.push_back(batch->tokens());
  batch->lengths.push_back(request.prompt + running.picked);
  std::vector<int> table = running.blocks;
  table.resize(kTableBlocks);
  batch->tables.insert(batch->tables.end(), table.begin(), table.end());
  batch->temperatures.push_back(request.temperature);
  batch->seeds.push_back(request.seed);
  batch->numbers.push_back(running.number);
}

bool Scheduler::Next(Batch* batch) {
  const size_t first = Admit();
  *batch = Batch();
  if (running_.empty()) return false;
  batch->is_prefill = first < running_.size();
  batch->starts.push_back(0);
  first_ = batch->is_prefill ? first : 0;
  for (size_t i = first_; i < running_.size(); ++i) {
    Append(running_[i], batch->is_prefill, batch);
  }
  return true;
}

void Scheduler::Take(const std::vector<int>& picked) {
  GRAPHTREE_CHECK(picked.size() == running_.size() - first_)
      << picked.size() << " tokens for " << running_.size() - first_ << " requests";
  ++clock_;
  for (size_t i = 0; i < picked.size(); ++i) {
    Running& running = running_[first_ + i];
    running.last_picked = picked[i];
    ++running.picked;
    if (running.picked < running.request.output) continue;
    free_blocks_.insert(free_blocks_.end(), running.blocks.rbegin(), running.blocks.rend());
  }
  const auto is_done = [](const Running& r) { return r.picked == r.request.output; };
  running_.erase(std::remove_if(running_.begin(), running_.end(), is_done), running_.end());
}

}  // namespace graphtree::demo
