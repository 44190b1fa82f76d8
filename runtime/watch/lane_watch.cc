// Adds up.
#include "runtime/watch/lane_watch.h"

#include <chrono>

namespace graphtree {

int64_t SteadyClockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t LaneWatch::count(Why why) const {
  uint64_t all = 0;
  for (const auto& by_why : counts_) all += by_why[static_cast<size_t>(why)].get();
  return all;
}

}  // namespace graphtree
