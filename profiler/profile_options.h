// What is asked of a profile (profile.h), and what it says of itself when it is over.
#ifndef GRAPHTREE_PROFILER_PROFILE_OPTIONS_H_
#define GRAPHTREE_PROFILER_PROFILE_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/device.h"
#include "profiler/activity/activity_source.h"
#include "profiler/live/launch_join.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree {

enum class ProfileMode : uint8_t { kHost, kLight, kFull };

// "host", "light", "full".
const char* ProfileModeName(ProfileMode mode);
absl::StatusOr<ProfileMode> ProfileModeFrom(absl::string_view name);

// A number that is asked now and then, and drawn as a line.
struct ProfileCounter {
  std::string name = {};    // "pool bytes"
  std::string series = {};  // "live"
  std::function<double()> value = {};
};

struct ProfileOptions {
  ProfileMode mode = ProfileMode::kHost;
  Device* device = nullptr;
  activity::ActivitySource* source = nullptr;  // of the full mode
  absl::Status why_no_source = {};  // where there is none: what the profile says
  // The end has CUPTI leave also beside launches of graphs by others, which may break their work.
  bool forces_out = false;
  trace::TraceTables* tables = nullptr;
  trace::TraceListener* listener = nullptr;
  uint64_t light_in = 64;  // a light profile times one replay in so many
  // The window: it is over after so many replays that the profile is told of (of a light one, so
  // many samples), or after so long; a round of some milliseconds may come on top. Without either,
  // at Stop.
  std::optional<uint64_t> most_replays = std::nullopt;
  std::optional<std::chrono::nanoseconds> most_time = std::nullopt;
  size_t queue_room = size_t{1} << 14;  // a power of two, from 2 on
  // Asked on a thread of the profile's. One that waits for a step to end may be left behind by
  // Stop, after a while: so each holds what it needs.
  std::vector<ProfileCounter> counters = {};
  std::chrono::nanoseconds counter_every = std::chrono::milliseconds(10);
};

struct ProfileReport {
  ProfileMode mode = ProfileMode::kHost;  // that was in force at the end
  std::string why_not_full = {};          // where full was asked for
  uint64_t launches = 0;                  // told by trees
  uint64_t ops = 0;                       // in the trace
  uint64_t dropped = 0;                   // of both that found no room
  // Launches that a light profile could not time: all its events were under way, or the launch was
  // another device's.
  uint64_t untimed = 0;
  live::JoinCounts join = {};
  double drift_ppm = 0;
  std::vector<std::string> remarks = {};
};

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_PROFILE_OPTIONS_H_
