// Cutting a graph into chains, and counting along them.
#include "device/host/graph/replay_plan.h"

#include <algorithm>

#include "device/base/check.h"

namespace graphtree::host {

ReplayPlan::ReplayPlan(absl::Span<const Op> ops) {
  for (const Op& op : ops) {
    for (const Edge& edge : op.dependencies) {
      GRAPHTREE_CHECK(edge.from < op.id) << "op " << op.id << " waits for " << edge.from;
    }
  }
  CutIntoChains(ops);
  CountWhatComesBefore(ops);
  LinkFollowers(ops);
}

void ReplayPlan::CutIntoChains(absl::Span<const Op> ops) {
  std::vector<uint32_t> last_of_chain;
  for (const Op& op : ops) {
    Place place = {static_cast<uint32_t>(last_of_chain.size()), 0};
    for (const Edge& edge : op.dependencies) {
      const Place& from = places_[edge.from];
      if (last_of_chain[from.chain] == edge.from) {
        place = {from.chain, from.index + 1};
        break;
      }
    }
    if (place.chain == last_of_chain.size()) last_of_chain.push_back(op.id);
    last_of_chain[place.chain] = op.id;
    places_.push_back(place);
  }
  chains_ = static_cast<uint32_t>(last_of_chain.size());
}

void ReplayPlan::CountWhatComesBefore(absl::Span<const Op> ops) {
  before_.resize(uint64_t{chains_} * ops.size());
  for (const Op& op : ops) {
    uint32_t* row = before_.data() + uint64_t{op.id} * chains_;
    for (const Edge& edge : op.dependencies) {
      const uint32_t* from_row = before_.data() + uint64_t{edge.from} * chains_;
      for (uint32_t i = 0; i < chains_; ++i) row[i] = std::max(row[i], from_row[i]);
      const Place& from = places_[edge.from];
      row[from.chain] = std::max(row[from.chain], from.index + 1);
    }
  }
}

void ReplayPlan::LinkFollowers(absl::Span<const Op> ops) {
  waits_for_.resize(ops.size());
  first_follower_.assign(ops.size() + 1, 0);
  for (const Op& op : ops) {
    waits_for_[op.id] = static_cast<uint32_t>(op.dependencies.size());
    for (const Edge& edge : op.dependencies) ++first_follower_[edge.from + 1];
  }
  for (size_t i = 1; i <= ops.size(); ++i) first_follower_[i] += first_follower_[i - 1];
  followers_.resize(first_follower_.back());
  std::vector<uint32_t> next(first_follower_.begin(), first_follower_.end() - 1);
  for (const Op& op : ops) {
    for (const Edge& edge : op.dependencies) followers_[next[edge.from]++] = op.id;
  }
}

}  // namespace graphtree::host
