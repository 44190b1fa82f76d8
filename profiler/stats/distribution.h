// Distribution: how long something took, over any number of times, in two kilobytes or so.
//
//   ns   0 .. 255   256 .. 511      512 .. 1023     ...
//        |||||||||  | | | | | | |   |   |   |   |        buckets: at most 1/128 of their value wide
//
// Minimum, maximum, count and mean are exact; a quantile is off by at most 0.8 %. Not safe for
// concurrent use. Adding costs a few nanoseconds.
#ifndef GRAPHTREE_PROFILER_STATS_DISTRIBUTION_H_
#define GRAPHTREE_PROFILER_STATS_DISTRIBUTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphtree::trace {

class Distribution {
 public:
  // Less than nothing counts as nothing.
  void Add(int64_t ns);
  void Merge(const Distribution& other);

  uint64_t count() const { return count_; }
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  int64_t max() const { return max_; }
  double sum() const { return sum_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The smallest value that at least this share of all does not exceed; 0 where there is none.
  int64_t Quantile(double share) const;
  int64_t median() const { return Quantile(0.5); }

  // The chance that a value of `other` is larger than one of this, of two that are drawn by lot;
  // equal ones count half. 0.5 where either is empty.
  double ChanceOfLess(const Distribution& other) const;

 private:
  static size_t BucketOf(uint64_t ns);
  static int64_t MiddleOf(size_t bucket);
  uint64_t CountAt(size_t bucket) const;

  uint64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  double sum_ = 0;
  size_t first_ = 0;  // the bucket of counts_[0]
  std::vector<uint32_t> counts_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_DISTRIBUTION_H_
