// ProfileFile: the file that a profile is written into while it runs.
//
//   auto file = ProfileFile::Create("trace.json");
//   ... Profile::Start({.tables = &(*file)->tables(), .listener = &(*file)->listener()})
//   ... Stop
//   absl::Status written = (*file)->Finish();   // "no space left": the trace is cut, nothing else
//
// The ending says the format: .json as PyTorch's profiler writes it; .pftrace, .perfetto-trace or
// .pb for Perfetto. What is in the file when the process ends without warning can be read.
//
// Not safe for concurrent use.
#ifndef GRAPHTREE_PROFILER_PROFILE_FILE_H_
#define GRAPHTREE_PROFILER_PROFILE_FILE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"

namespace graphtree {

class ProfileFile {
 public:
  // Whether a path has one of the endings; the error names them. Makes nothing.
  static absl::Status CheckName(const std::string& path);
  // Makes the file, or empties it.
  static absl::StatusOr<std::unique_ptr<ProfileFile>> Create(const std::string& path);
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  trace::TraceTables& tables() { return tables_; }
  trace::TraceListener& listener() { return *writer_; }
  // The first failure to write, or that the file was deleted meanwhile.
  // REQUIRES: the trace has ended.
  absl::Status Finish() { return sink_->Finish(); }

 private:
  explicit ProfileFile(std::unique_ptr<trace::FileSink> sink) : sink_(std::move(sink)) {}

  const std::unique_ptr<trace::FileSink> sink_;
  trace::TraceTables tables_;
  std::unique_ptr<trace::TraceListener> writer_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_PROFILER_PROFILE_FILE_H_
