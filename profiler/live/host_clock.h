// The clock of a profile: nanoseconds since 1970, as other tools' traces have them, that never go
// back.
//
//   Now() = CLOCK_MONOTONIC + what CLOCK_REALTIME was ahead by when the profile began
//
// Somebody who sets the system's time meanwhile moves nothing.
//
// Threads: any. Cost: a read of the clock, some 20 ns.
#ifndef GRAPHTREE_PROFILER_LIVE_HOST_CLOCK_H_
#define GRAPHTREE_PROFILER_LIVE_HOST_CLOCK_H_

#include <cstdint>
#include <ctime>

namespace graphtree::live {

class HostClock {
 public:
  HostClock() : ahead_(Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC)) {}

  int64_t Now() const { return FromMonotonic(Read(CLOCK_MONOTONIC)); }
  int64_t FromMonotonic(int64_t ns) const { return ns + ahead_; }

 private:
  static int64_t Read(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  const int64_t ahead_;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_HOST_CLOCK_H_
