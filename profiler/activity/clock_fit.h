// ClockFit: turns times of one clock into times of another, from pairs of readings of both.
//
//   target |            .x        a line through all pairs (least squares); its slope, less one, is
//          |        .x            how fast one clock runs away from the other: the drift
//          |    x.
//          |x.____________ source
//
// A pair is as good as its reading was short: a reading between two of the target's clock is taken
// at their middle, and of several tries the shortest is kept (ReadPair). One pair fits with a slope
// of 1. A bounded number of pairs is kept: when it is full, every second one goes.
//
// Pure. Not safe from several threads.
#ifndef GRAPHTREE_PROFILER_ACTIVITY_CLOCK_FIT_H_
#define GRAPHTREE_PROFILER_ACTIVITY_CLOCK_FIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"

namespace graphtree::activity {

struct ClockPair {
  int64_t source_ns = 0;
  int64_t target_ns = 0;
  int64_t uncertainty_ns = 0;  // the target was read within so long
};

// The shortest of `tries` readings of `source` between two of `target`.
ClockPair ReadPair(absl::FunctionRef<int64_t()> source, absl::FunctionRef<int64_t()> target,
                   int tries = 5);

class ClockFit {
 public:
  explicit ClockFit(size_t most_pairs = 1024) : most_pairs_(most_pairs) {}

  // In any order; later is better.
  void Add(const ClockPair& pair);

  bool empty() const { return pairs_.empty(); }
  size_t size() const { return pairs_.size(); }
  // Without a pair, as it is.
  int64_t ToTarget(int64_t source_ns) const;
  // Parts of a million by which the source runs slower than the target.
  double drift_ppm() const { return slope_less_one_ * 1e6; }
  // How far the farthest pair is from the line.
  int64_t worst_ns() const;

 private:
  void Fit();

  const size_t most_pairs_;
  std::vector<ClockPair> pairs_;
  int64_t source_middle_ = 0;
  int64_t target_middle_ = 0;
  double slope_less_one_ = 0;
};

}  // namespace graphtree::activity

#endif  // GRAPHTREE_PROFILER_ACTIVITY_CLOCK_FIT_H_
