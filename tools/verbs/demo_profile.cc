// Begins with the runtime, ends before it closes.
#include "tools/verbs/demo_profile.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/open_source.h"
#include "runtime/pool_counters.h"

namespace graphtree {

absl::Status DemoProfile::Begin(Device& device, const Runtime& runtime) {
  device_ = &device;
  GRAPHTREE_ASSIGN_OR_RETURN(file_, ProfileFile::Create(path_));
  ProfileOptions options;
  options.mode = mode_;
  options.device = &device;
  options.tables = &file_->tables();
  options.listener = &file_->listener();
  options.counters = PoolCounters([&runtime] { return runtime.metrics(); });
  source_ = OpenSourceOf(
      options, cupti::OptionsOf([](const char* name) { return std::getenv(name); }));
  GRAPHTREE_ASSIGN_OR_RETURN(profile_, Profile::Start(std::move(options)));
  return absl::OkStatus();
}

absl::Status DemoProfile::End() {
  const ProfileReport report = profile_->Stop();
  CloseSource(std::move(source_), *device_);
  GRAPHTREE_RETURN_IF_ERROR(file_->Finish());
  std::string text = absl::StrCat("\nprofile   ", ProfileModeName(report.mode), ": ",
                                  report.launches, " launches, ", report.ops, " ops");
  if (report.dropped > 0) absl::StrAppend(&text, ", ", report.dropped, " dropped");
  const uint64_t odd = report.join.mismatched + report.join.short_launches;
  if (odd > 0) absl::StrAppend(&text, ", ", odd, " that fit no launch");
  if (!report.why_not_full.empty()) {
    absl::StrAppend(&text, "\n          no single ops: ", report.why_not_full);
  }
  absl::StrAppend(&text, "\n          graphtree profile show ", path_, "\n");
  sentence_ = std::move(text);
  return absl::OkStatus();
}

}  // namespace graphtree
