// Opens a source where one is wanted, and waits.
#include "profiler/profile_window.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/open_source.h"
#include "profiler/profile.h"

namespace graphtree {

absl::StatusOr<ProfileReport> ProfileWindow(Device& device, const WindowOptions& options,
                                            trace::TraceTables& tables,
                                            trace::TraceListener& listener) {
  std::unique_ptr<activity::ActivitySource> source;
  absl::Status opened;
  if (options.mode == ProfileMode::kFull) {
    auto maybe = OpenActivitySource(device, options.cupti);
    opened = maybe.status();
    if (maybe.ok()) source = *std::move(maybe);
  }
  ProfileOptions profile;
  profile.mode = options.mode;
  profile.device = &device;
  profile.source = source.get();
  profile.tables = &tables;
  profile.listener = &listener;
  profile.light_in = options.light_in;
  profile.most_replays = options.most_replays;
  profile.most_time = options.most_time;
  profile.counters = options.counters;
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Profile> running,
                             Profile::Start(std::move(profile)));
  while (!running->AwaitWindow(options.most_time)) continue;
  ProfileReport report = running->Stop();
  if (!opened.ok()) {
    report.why_not_full = std::string(opened.message());
    report.remarks.push_back(report.why_not_full);
  }
  return report;
}

}  // namespace graphtree
