// FullMode: the device's ops, for as long as a profile has them.
//
//   Attach --goes well--> attached  each 100 ms: Flush, both clocks are read --Detach--> detached
//      |                                                                          |
//      | somebody has CUPTI, there is none, ...                launches of others go on
//      v                                                                          v
//   away: each second TryAgain --goes well--> attached                        lingering
//
// Attaching and reading clocks come under the lock that the listener takes for each op: so no op is
// heard of before both clocks were read. Flushing and leaving wait for ops that are being told, so
// they come without it.
//
// Not safe for concurrent use. Cost: reading the clocks takes some microseconds.
#ifndef GRAPHTREE_PROFILER_LIVE_FULL_MODE_H_
#define GRAPHTREE_PROFILER_LIVE_FULL_MODE_H_

#include <chrono>
#include <mutex>

#include "absl/status/status.h"
#include "profiler/activity/activity.h"
#include "profiler/activity/activity_source.h"
#include "profiler/activity/clock_fit.h"
#include "profiler/live/host_clock.h"

namespace graphtree::live {

class FullMode {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Needs {
    activity::ActivitySource* source = nullptr;  // null: none
    absl::Status why_none = {};                  // what the error of attaching is then
    const HostClock& host;
    std::mutex& making;             // that the listener takes
    activity::ClockFit& fit;        // guarded by `making`
    activity::ActivityListener& listener;
  };
  FullMode(const Needs& needs, Time began)
      : needs_(needs), next_try_(began + kTryAgain), next_clocks_(began + kClocks) {}
  FullMode(const FullMode&) = delete;
  FullMode& operator=(const FullMode&) = delete;

  absl::Status Attach();
  // True if it is attached now. Tries once a second, and before that lets go what lingers.
  bool TryAgain(Time now);
  // Now and then: has the device tell what has ended, and reads both clocks.
  void Keep(Time now);
  // Unavailable if CUPTI stays: why, and what that costs.
  absl::Status Detach(const activity::DetachOptions& options);

 private:
  static constexpr std::chrono::seconds kTryAgain{1};
  static constexpr std::chrono::milliseconds kClocks{100};

  // With the lock.
  void ReadClocks();

  const Needs needs_;
  Time next_try_;
  Time next_clocks_;
};

}  // namespace graphtree::live

#endif  // GRAPHTREE_PROFILER_LIVE_FULL_MODE_H_
