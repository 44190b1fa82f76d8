// Distribution: how long something took, over any number of times, in two kilobytes or so.
//
//   octave   0          1            2             3
//   ns       0 .. 127   128 .. 255   256 .. 511    512 .. 1023   ...
//            |||||||||  ||||||||||   | | | | | |   |   |   |       buckets: 128 in each octave
//
// Minimum, maximum, count and mean are exact; a quantile is off by at most 0.8 %. Only octaves that
// have a value take memory, so a file cannot make much of it by values that lie far apart. Not safe
// for concurrent use. Adding costs a few nanoseconds.
#ifndef GRAPHTREE_PROFILER_STATS_DISTRIBUTION_H_
#define GRAPHTREE_PROFILER_STATS_DISTRIBUTION_H_

#include <array>
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
  static constexpr size_t kBuckets = 128;  // of an octave
  struct Octave {
    uint32_t number = 0;
    std::array<uint32_t, kBuckets> counts = {};
  };

  static int64_t MiddleOf(uint32_t octave, size_t bucket);
  Octave& OctaveOf(uint32_t number);

  uint64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  double sum_ = 0;
  std::vector<Octave> octaves_;  // by number
  size_t last_ = 0;              // that a value fell into
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_DISTRIBUTION_H_
