// BatchMedians: how much the median of something wanders while it is measured.
//
//   values   ||||||||||||||||||||||||||||||||||||||||||||||||||||
//   batches  [  median  ][  median  ][  median  ][  median  ]        at most 32
//
// Ten thousand replays a second apart in time are no ten thousand independent measurements: clocks
// rise and fall, neighbours come and go. What two traces differ by is therefore held against how
// far the medians of whole stretches of one trace lie apart. When there are too many batches two
// become one and each covers twice as long, so the memory is fixed. Not safe for concurrent use.
#ifndef GRAPHTREE_PROFILER_STATS_BATCH_MEDIANS_H_
#define GRAPHTREE_PROFILER_STATS_BATCH_MEDIANS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphtree::trace {

class BatchMedians {
 public:
  void Add(int64_t value);

  // Medians in ns, in the order of time. What does not fill a batch is in none.
  const std::vector<double>& medians() const { return medians_; }
  // Values that a batch covers; of them it looks at kLookedAt.
  uint64_t batch_size() const { return kLookedAt * stride_; }

  static constexpr size_t kLookedAt = 15;
  static constexpr size_t kMostBatches = 32;

 private:
  void Halve();

  uint64_t stride_ = 1;
  uint64_t skipped_ = 0;
  std::vector<int64_t> open_;
  std::vector<double> medians_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_BATCH_MEDIANS_H_
