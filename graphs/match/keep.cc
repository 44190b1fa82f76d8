// Ages weights, and chooses what goes first.
#include "graphs/match/keep.h"

#include <algorithm>
#include <cmath>

namespace graphtree {

double Aged(double weight, uint64_t calls, uint64_t half_life) {
  return weight * std::exp2(-static_cast<double>(calls) / static_cast<double>(half_life));
}

double Uses::At(uint64_t now, uint64_t count, uint64_t last, uint64_t half_life) {
  weight_ = Seen(now, count, last, half_life);
  counted_ = count;
  as_of_ = now;
  return weight_;
}

double Uses::Seen(uint64_t now, uint64_t count, uint64_t last, uint64_t half_life) const {
  return Aged(weight_, now - as_of_, half_life) +
         Aged(static_cast<double>(count - counted_), now - last, half_life);
}

void Uses::Inherit(double weight, uint64_t now, uint64_t half_life) {
  weight_ = Aged(weight_, now - as_of_, half_life) + weight;
  as_of_ = now;
}

double Worth(const Kept& kept) {
  return kept.uses * static_cast<double>(kept.cost) / static_cast<double>(kept.bytes + 1);
}

std::vector<size_t> ChooseVictims(absl::Span<const Kept> kept, uint64_t count, uint64_t bytes) {
  std::vector<size_t> order;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i].pinned) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return Worth(kept[a]) < Worth(kept[b]); });
  size_t chosen = 0;
  uint64_t fewer = 0;
  uint64_t freed = 0;
  for (; chosen < order.size() && (fewer < count || freed < bytes); ++chosen) {
    fewer += kept[order[chosen]].count;
    freed += kept[order[chosen]].bytes;
  }
  if (fewer < count || freed < bytes) chosen = 0;
  order.resize(chosen);
  return order;
}

size_t LeastWorth(absl::Span<const Kept> kept) {
  size_t least = kept.size();
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].pinned) continue;
    if (least == kept.size() || Worth(kept[i]) < Worth(kept[least])) least = i;
  }
  return least;
}

}  // namespace graphtree
