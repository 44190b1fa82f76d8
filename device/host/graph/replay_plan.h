// The order of a graph's ops, laid out for running: which ops follow an op, and which come before.
//
//      0 - 1 - 3 - 4        chain 0: ops 0 1 3 4        4 has before it: {chain 0: 3, chain 1: 1}
//        \ 2 /              chain 1: op 2               3 has before it: {chain 0: 2, chain 1: 1}
//
// The ops are cut into chains, in each of which every op follows the one before it. Whether an op
// comes after another is then one compare: has it at least so many of that one's chain before it?
// Memory: ops times chains, which is little, since graphs are long and narrow.
//
// Pure and immutable.
#ifndef GRAPHTREE_DEVICE_HOST_GRAPH_REPLAY_PLAN_H_
#define GRAPHTREE_DEVICE_HOST_GRAPH_REPLAY_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "device/graph.h"
#include "device/host/checks/race_check.h"

namespace graphtree::host {

class ReplayPlan {
 public:
  // REQUIRES: every op waits only for ops with smaller ids.
  explicit ReplayPlan(absl::Span<const Op> ops);

  uint32_t op_count() const { return static_cast<uint32_t>(places_.size()); }
  uint32_t chain_count() const { return chains_; }
  // How many ops each op waits for.
  const std::vector<uint32_t>& waits_for() const { return waits_for_; }
  absl::Span<const uint32_t> followers(uint32_t op) const {
    return {followers_.data() + first_follower_[op], first_follower_[op + 1] - first_follower_[op]};
  }
  GraphPlace place(uint32_t op) const {
    return {places_[op].chain, places_[op].index, before_.data() + uint64_t{op} * chains_};
  }

 private:
  struct Place {
    uint32_t chain;
    uint32_t index;
  };

  void CutIntoChains(absl::Span<const Op> ops);
  void CountWhatComesBefore(absl::Span<const Op> ops);
  void LinkFollowers(absl::Span<const Op> ops);

  uint32_t chains_ = 0;
  std::vector<Place> places_;
  std::vector<uint32_t> before_;  // op_count rows of chains_
  std::vector<uint32_t> waits_for_;
  std::vector<uint32_t> first_follower_;
  std::vector<uint32_t> followers_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_GRAPH_REPLAY_PLAN_H_
