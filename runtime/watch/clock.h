// The clock that all times of a runtime are taken from: the caller's (RuntimeOptions::clock_ns), or
// the system's. The caller's may throw, which is an error of the call that looked at it.
//
// Threads: any. Cost: some 20 ns, most of them the clock's own.
#ifndef GRAPHTREE_RUNTIME_WATCH_CLOCK_H_
#define GRAPHTREE_RUNTIME_WATCH_CLOCK_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace graphtree {

// Nanoseconds of a clock that never goes back.
using ClockNs = std::function<int64_t()>;

int64_t SteadyClockNs();

// What the clock says, or an error that says that it threw.
absl::StatusOr<int64_t> LookAt(const ClockNs& clock);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_CLOCK_H_
