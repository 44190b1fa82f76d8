// How long something took, as counts of durations by their size: each bucket is twice as wide as
// the one before.
//
//   bucket      0         1         2         3     ...    24        25
//   below    1.02 us   2.05 us   4.10 us   8.19 us        17.2 s    all others
#ifndef GRAPHTREE_GRAPHS_REPORTS_DURATION_COUNTS_H_
#define GRAPHTREE_GRAPHS_REPORTS_DURATION_COUNTS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace graphtree {

// Plain data.
struct DurationCounts {
  static constexpr size_t kBuckets = 26;
  static constexpr int kFirstBits = 10;  // the first bucket ends at 2 to the 10th ns

  // Nanoseconds; durations in the bucket are less. REQUIRES: bucket < kBuckets - 1, as the last one
  // has no end.
  static constexpr uint64_t EndOf(size_t bucket) { return uint64_t{1} << (bucket + kFirstBits); }
  static constexpr size_t BucketOf(uint64_t ns) {
    const int bits = std::bit_width(ns);
    const size_t bucket = bits <= kFirstBits ? 0 : static_cast<size_t>(bits - kFirstBits);
    return std::min(bucket, kBuckets - 1);
  }

  void AddOne(uint64_t ns) {
    ++buckets[BucketOf(ns)];
    total_ns += ns;
  }
  uint64_t count() const {
    uint64_t all = 0;
    for (const uint64_t in_bucket : buckets) all += in_bucket;
    return all;
  }
  void Add(const DurationCounts& other) {
    for (size_t i = 0; i < kBuckets; ++i) buckets[i] += other.buckets[i];
    total_ns += other.total_ns;
  }

  std::array<uint64_t, kBuckets> buckets = {};
  uint64_t total_ns = 0;
};

// Counts the time from when it was made, on the host's clock that never goes back.
class Timing {
 public:
  void AddTo(DurationCounts* counts) const {
    const auto took = std::chrono::steady_clock::now() - begin_;
    counts->AddOne(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_REPORTS_DURATION_COUNTS_H_
