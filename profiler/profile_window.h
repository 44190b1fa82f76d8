// A window of a running process: a profile that begins, waits for so many replays or so long, and
// ends, on the thread that asks.
//
//   trees  ...replay|replay|replay|replay|replay|replay...
//                   |<-- window: 3 replays --->|
//
// Threads: any; a profile that runs already is an error. Cost: the window's time.
#ifndef GRAPHTREE_PROFILER_PROFILE_WINDOW_H_
#define GRAPHTREE_PROFILER_PROFILE_WINDOW_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/profile_options.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree {

struct WindowOptions {
  ProfileMode mode = ProfileMode::kFull;
  uint64_t most_replays = 100;
  std::chrono::nanoseconds most_time = std::chrono::seconds(5);
  uint64_t light_in = 1;  // a light window times each replay
  cupti::CuptiOptions cupti = {};
  bool forces_out = false;  // as in ProfileOptions
  std::vector<ProfileCounter> counters = {};
};

// All outlive the call.
absl::StatusOr<ProfileReport> ProfileWindow(Device& device, const WindowOptions& options,
                                            trace::TraceTables& tables,
                                            trace::TraceListener& listener);

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_PROFILE_WINDOW_H_
