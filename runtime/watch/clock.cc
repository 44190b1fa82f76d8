// Asks, and catches.
#include "runtime/watch/clock.h"

#include <chrono>

#include "absl/status/status.h"
#include "device/base/guarded_call.h"

namespace graphtree {

int64_t SteadyClockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<int64_t> LookAt(const ClockNs& clock) {
  int64_t now = 0;
  const absl::Status looked =
      GuardedBy("RuntimeOptions::clock_ns", [&clock, &now] { now = clock(); });
  if (!looked.ok()) return looked;
  return now;
}

}  // namespace graphtree
