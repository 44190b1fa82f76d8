// Least squares about the middle of the pairs, where the numbers are small.
#include "profiler/activity/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace graphtree::activity {

ClockPair ReadPair(absl::FunctionRef<int64_t()> source, absl::FunctionRef<int64_t()> target,
                   int tries) {
  ClockPair best;
  for (int i = 0; i < tries; ++i) {
    const int64_t before = target();
    const int64_t read = source();
    const int64_t took = target() - before;
    if (i == 0 || took < best.uncertainty_ns) best = {read, before + took / 2, took};
  }
  return best;
}

void ClockFit::Add(const ClockPair& pair) {
  if (pairs_.size() >= most_pairs_ && most_pairs_ > 1) {
    size_t kept = 0;
    for (size_t i = 0; i < pairs_.size(); i += 2) pairs_[kept++] = pairs_[i];
    pairs_.resize(kept);
  }
  pairs_.push_back(pair);
  Fit();
}

void ClockFit::Fit() {
  const ClockPair& first = pairs_.front();
  double source_sum = 0, target_sum = 0;
  for (const ClockPair& pair : pairs_) {
    source_sum += static_cast<double>(pair.source_ns - first.source_ns);
    target_sum += static_cast<double>(pair.target_ns - first.target_ns);
  }
  const double count = static_cast<double>(pairs_.size());
  source_middle_ = first.source_ns + std::llround(source_sum / count);
  target_middle_ = first.target_ns + std::llround(target_sum / count);
  double squares = 0, products = 0;
  for (const ClockPair& pair : pairs_) {
    const double x = static_cast<double>(pair.source_ns - source_middle_);
    // What the target has gone farther than the source.
    const double y = static_cast<double>(pair.target_ns - target_middle_) - x;
    squares += x * x;
    products += x * y;
  }
  slope_less_one_ = squares > 0 ? products / squares : 0;
}

int64_t ClockFit::ToTarget(int64_t source_ns) const {
  const int64_t since = source_ns - source_middle_;
  return target_middle_ + since + std::llround(static_cast<double>(since) * slope_less_one_);
}

int64_t ClockFit::worst_ns() const {
  int64_t worst = 0;
  for (const ClockPair& pair : pairs_) {
    worst = std::max<int64_t>(worst, std::abs(ToTarget(pair.source_ns) - pair.target_ns));
  }
  return worst;
}

}  // namespace graphtree::activity
