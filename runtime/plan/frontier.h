// The best choices for their bytes: of many, those that no other one beats in both bytes and cost.
//
//   cost |x                     x   kept
//        |   x   o              o   left out: one with no more bytes costs no more
//        |      x  o
//        |           x
//        +------------- bytes
//
// A point is any struct with `bytes` and `cost`. A frontier has them by ascending bytes, so by
// descending cost.
//
// Pure. Cost: linear.
#ifndef GRAPHTREE_RUNTIME_PLAN_FRONTIER_H_
#define GRAPHTREE_RUNTIME_PLAN_FRONTIER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphtree {

// Makes a frontier of both, which are frontiers.
template <typename Point>
void MergeInto(const std::vector<Point>& more, std::vector<Point>* frontier) {
  const auto is_before = [](const Point& a, const Point& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.cost < b.cost;
  };
  std::vector<Point> best;
  best.reserve(frontier->size() + more.size());
  size_t i = 0, j = 0;
  while (i < frontier->size() || j < more.size()) {
    const bool is_first = j == more.size() ||
                          (i < frontier->size() && !is_before(more[j], (*frontier)[i]));
    const Point& next = is_first ? (*frontier)[i++] : more[j++];
    if (best.empty() || next.cost < best.back().cost) best.push_back(next);
  }
  frontier->swap(best);
}

// Leaves no more than about `most` points, by rounding their bytes up: what fits into the limit
// still does.
template <typename Point>
void ThinOut(uint64_t byte_limit, uint64_t most, std::vector<Point>* frontier) {
  if (frontier->size() <= most) return;
  const uint64_t grain = std::min(byte_limit, frontier->back().bytes) / most + 1;
  std::vector<Point> thin;
  for (Point point : *frontier) {
    const uint64_t rest = point.bytes % grain;
    if (rest > 0) point.bytes += std::min(grain - rest, byte_limit - point.bytes);
    // The last one of as many bytes is the cheapest.
    if (!thin.empty() && thin.back().bytes == point.bytes) thin.pop_back();
    thin.push_back(point);
  }
  frontier->swap(thin);
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PLAN_FRONTIER_H_
