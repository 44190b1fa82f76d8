// Durations that a lane's thread counts while others read; graphs/reports/duration_counts.h says
// how.
//
// Threads: one writes, any may read (counter.h). A reader may find a duration counted in its bucket
// and not yet in the sum. Cost: a few instructions.
#ifndef GRAPHTREE_RUNTIME_WATCH_DURATIONS_H_
#define GRAPHTREE_RUNTIME_WATCH_DURATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "graphs/reports/duration_counts.h"
#include "runtime/watch/counter.h"

namespace graphtree {

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
