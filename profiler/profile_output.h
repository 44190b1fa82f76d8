// ProfileOutput: where a profile's trace goes: a file, figures, or both.
//
//   auto output = ProfileOutput::Open({.path = "trace.json", .figures = true});
//   (*output)->Into(&options);                 // tables and listener of the profile
//   ... Profile::Start(options) ... Stop
//   absl::Status written = (*output)->Finish();
//   std::string table = (*output)->Table();    // also while the profile runs
//
// Threads: Table and FiguresJson on any, the rest on one at a time. Cost: as profile_file.h and
// stats/live_figures.h say.
#ifndef GRAPHTREE_PROFILER_PROFILE_OUTPUT_H_
#define GRAPHTREE_PROFILER_PROFILE_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler/profile_file.h"
#include "profiler/profile_options.h"
#include "profiler/stats/live_figures.h"
#include "profiler/trace/tables.h"

namespace graphtree {

struct ProfileOutputOptions {
  std::string path = {};  // empty: no file
  bool figures = false;
  uint64_t memory_bytes_per_second = 0;  // of DeviceInfo
};

class ProfileOutput {
 public:
  // InvalidArgument where the trace would go nowhere, or the path has no ending of a trace's file.
  static absl::Status Check(const ProfileOutputOptions& options);
  static absl::StatusOr<std::unique_ptr<ProfileOutput>> Open(const ProfileOutputOptions& options);
  ProfileOutput(const ProfileOutput&) = delete;
  ProfileOutput& operator=(const ProfileOutput&) = delete;

  // It must outlive the profile of these options.
  void Into(ProfileOptions* options);

  bool has_figures() const { return figures_ != nullptr; }
  // REQUIRES: has_figures(). At most so many rows for functions, nodes and ops each.
  std::string Table(size_t most_rows) const;
  std::string FiguresJson() const;

  // The first failure to write the file. REQUIRES: the trace has ended.
  absl::Status Finish();

 private:
  ProfileOutput() = default;

  std::unique_ptr<ProfileFile> file_;           // null: none
  trace::TraceTables own_tables_;               // where there is no file
  std::unique_ptr<trace::LiveFigures> figures_;  // null: none
};

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_PROFILE_OUTPUT_H_
