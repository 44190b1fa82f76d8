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

double Worth(const Candidate& candidate) {
  return candidate.uses * static_cast<double>(candidate.cost) /
         static_cast<double>(candidate.bytes + 1);
}

std::vector<size_t> ChooseVictims(absl::Span<const Candidate> candidates, uint64_t count,
                                  uint64_t bytes) {
  std::vector<size_t> order;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].pinned) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return Worth(candidates[a]) < Worth(candidates[b]); });
  size_t chosen = 0;
  uint64_t fewer = 0;
  uint64_t freed = 0;
  for (; chosen < order.size() && (fewer < count || freed < bytes); ++chosen) {
    fewer += candidates[order[chosen]].count;
    freed += candidates[order[chosen]].bytes;
  }
  if (fewer < count || freed < bytes) chosen = 0;
  order.resize(chosen);
  return order;
}

size_t LeastWorth(absl::Span<const Candidate> candidates) {
  size_t least = candidates.size();
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].pinned) continue;
    if (least == candidates.size() || Worth(candidates[i]) < Worth(candidates[least])) least = i;
  }
  return least;
}

}  // namespace graphtree
