// Puts choices together, lane by lane.
#include "runtime/plan/selection.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "runtime/plan/frontier.h"

namespace graphtree {
namespace {

constexpr uint32_t kNothing = ~uint32_t{0};

// A set of items, as a list from the last that was chosen back: `last` is its place among links.
struct Choice {
  uint64_t bytes = 0;
  uint64_t cost = 0;  // the worth of what is left out
  uint32_t last = kNothing;
};
// Two lists, or an item and a list.
struct Link {
  uint32_t item = kNothing;
  uint32_t list = kNothing;
  uint32_t other_list = kNothing;
};
using Choices = std::vector<Choice>;

class Selector {
 public:
  Selector(absl::Span<const PlanItem> items, uint64_t budget, uint64_t most_choices)
      : items_(items),
        budget_(budget == 0 ? std::numeric_limits<uint64_t>::max()
                            : std::max(budget, BytesOf(WhatIsThere()))),
        most_(most_choices) {}

  Selection Select() {
    std::map<uint32_t, std::vector<uint32_t>> by_lane;
    for (uint32_t i = 0; i < items_.size(); ++i) by_lane[items_[i].lane].push_back(i);
    Choices all = {Choice()};
    for (auto& [lane, items] : by_lane) all = Together(all, OfLane(std::move(items)));
    return Chosen(all);
  }

 private:
  // Those of `choices` with the item, as far as they fit.
  Choices With(const Choices& choices, uint32_t item, uint64_t more_bytes) {
    Choices with;
    for (const Choice& choice : choices) {
      const uint64_t bytes = choice.bytes + items_[item].own_bytes + more_bytes;
      if (bytes > budget_) break;
      links_.push_back({item, choice.last});
      with.push_back({bytes, choice.cost - items_[item].worth, NewestLink()});
    }
    return with;
  }
  void Keep(const Choices& more, Choices* best) {
    MergeInto(more, best);
    ThinOut(budget_, most_, best);
  }

  // What is there goes into every choice, and is counted by Chosen.
  Choices OfLane(std::vector<uint32_t> items) {
    std::stable_sort(items.begin(), items.end(), [this](uint32_t a, uint32_t b) {
      return items_[a].pool_bytes < items_[b].pool_bytes;
    });
    Choice nothing;
    uint64_t base = 0;
    for (const uint32_t item : items) {
      if (items_[item].is_there) {
        base = std::max(base, items_[item].pool_bytes);
        nothing.bytes += items_[item].own_bytes;
      } else {
        nothing.cost += items_[item].worth;
      }
    }
    Choices own = {nothing};  // of items so far, without the pool
    Choices best = {{base + nothing.bytes, nothing.cost, kNothing}};
    for (const uint32_t item : items) {
      if (items_[item].is_there) continue;
      const uint64_t pool = std::max(items_[item].pool_bytes, base);
      Keep(With(own, item, pool), &best);
      Keep(With(own, item, 0), &own);
    }
    return best;
  }

  Choices Together(const Choices& a, const Choices& b) {
    Choices best;
    for (const Choice& one : a) {
      Choices more;
      for (const Choice& other : b) {
        const uint64_t bytes = one.bytes + other.bytes;
        if (bytes > budget_) break;
        links_.push_back({kNothing, one.last, other.last});
        more.push_back({bytes, one.cost + other.cost, NewestLink()});
      }
      MergeInto(more, &best);
    }
    ThinOut(budget_, most_, &best);
    return best;
  }

  // Of all choices, which fit, the dearest in bytes leaves out the least.
  Selection Chosen(const Choices& all) const {
    Selection selection;
    selection.is_chosen = WhatIsThere();
    std::vector<uint32_t> open = {all.back().last};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      if (at == kNothing) continue;
      const Link& link = links_[at];
      if (link.item != kNothing) selection.is_chosen[link.item] = true;
      open.push_back(link.list);
      open.push_back(link.other_list);
    }
    selection.bytes = BytesOf(selection.is_chosen);
    for (size_t i = 0; i < items_.size(); ++i) {
      selection.worth += selection.is_chosen[i] ? items_[i].worth : 0;
    }
    return selection;
  }
  std::vector<bool> WhatIsThere() const {
    std::vector<bool> is_there;
    for (const PlanItem& item : items_) is_there.push_back(item.is_there);
    return is_there;
  }
  uint64_t BytesOf(const std::vector<bool>& is_chosen) const {
    uint64_t bytes = 0;
    std::map<uint32_t, uint64_t> pools;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!is_chosen[i]) continue;
      bytes += items_[i].own_bytes;
      uint64_t& pool = pools[items_[i].lane];
      pool = std::max(pool, items_[i].pool_bytes);
    }
    for (const auto& [lane, pool] : pools) bytes += pool;
    return bytes;
  }
  uint32_t NewestLink() const { return static_cast<uint32_t>(links_.size() - 1); }

  const absl::Span<const PlanItem> items_;
  const uint64_t budget_;
  const uint64_t most_;
  std::vector<Link> links_;
};

}  // namespace

Selection SelectWithin(absl::Span<const PlanItem> items, uint64_t budget, uint64_t most_choices) {
  return Selector(items, budget, most_choices).Select();
}

}  // namespace graphtree
