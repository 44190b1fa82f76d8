// How long something took, as counts of durations by their size: each bucket is twice as wide as
// the one before.
//
//   bucket      0         1         2         3     ...    24        25
//   below    1.02 us   2.05 us   4.10 us   8.19 us        17.2 s    all others
//
// Threads: one writes, any may read (counter.h). A reader may find a duration counted in its bucket
// and not yet in the sum. Cost: a few instructions.
#ifndef GRAPHTREE_RUNTIME_WATCH_DURATIONS_H_
#define GRAPHTREE_RUNTIME_WATCH_DURATIONS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/watch/counter.h"

namespace graphtree {

// Durations as they were at some moment. Plain data.
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

class Durations {
 public:
  void Add(uint64_t ns) {
    ++buckets_[DurationCounts::BucketOf(ns)];
    total_ns_.Add(ns);
  }
  DurationCounts get() const {
    DurationCounts counts;
    for (size_t i = 0; i < DurationCounts::kBuckets; ++i) counts.buckets[i] = buckets_[i].get();
    counts.total_ns = total_ns_.get();
    return counts;
  }

 private:
  std::array<Counter, DurationCounts::kBuckets> buckets_;
  Counter total_ns_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_DURATIONS_H_
