// Opens a source where one is wanted, and waits.
#include "profiler/profile_window.h"

#include <memory>
#include <utility>

#include "device/base/status_macros.h"
#include "profiler/activity/activity_source.h"
#include "profiler/open_source.h"
#include "profiler/profile.h"

namespace graphtree {

absl::StatusOr<ProfileReport> ProfileWindow(Device& device, const WindowOptions& options,
                                            trace::TraceTables& tables,
                                            trace::TraceListener& listener) {
  ProfileOptions profile;
  profile.mode = options.mode;
  profile.device = &device;
  profile.tables = &tables;
  profile.listener = &listener;
  profile.light_in = options.light_in;
  profile.most_replays = options.most_replays;
  profile.most_time = options.most_time;
  profile.counters = options.counters;
  profile.forces_out = options.forces_out;
  std::unique_ptr<activity::ActivitySource> source = OpenSourceOf(profile, options.cupti);
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Profile> running,
                             Profile::Start(std::move(profile)));
  while (!running->AwaitWindow(options.most_time)) continue;
  ProfileReport report = running->Stop();
  CloseSource(std::move(source), device);
  return report;
}

}  // namespace graphtree
