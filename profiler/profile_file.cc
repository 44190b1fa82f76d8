// Chooses the writer by the file's ending.
#include "profiler/profile_file.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/trace/json_trace_writer.h"
#include "profiler/trace/perfetto_trace_writer.h"

namespace graphtree {
namespace {

constexpr const char* kPerfettoEndings[] = {".pftrace", ".perfetto-trace", ".pb"};

bool IsPerfetto(const std::string& path) {
  for (const char* ending : kPerfettoEndings) {
    if (absl::EndsWith(path, ending)) return true;
  }
  return false;
}

}  // namespace

absl::Status ProfileFile::CheckName(const std::string& path) {
  if (absl::EndsWith(path, ".json") || IsPerfetto(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", path, "\": a profile's file ends in .json, or, for Perfetto, in .pftrace, "
                   ".perfetto-trace or .pb; `graphtree profile convert` makes other formats"));
}

absl::StatusOr<std::unique_ptr<ProfileFile>> ProfileFile::Create(const std::string& path) {
  GRAPHTREE_RETURN_IF_ERROR(CheckName(path));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<trace::FileSink> sink, trace::FileSink::Create(path));
  auto file = std::unique_ptr<ProfileFile>(new ProfileFile(std::move(sink)));
  if (IsPerfetto(path)) {
    file->writer_ = std::make_unique<trace::PerfettoTraceWriter>(file->tables_, *file->sink_,
                                                                 trace::LaneChoice::kStream);
  } else {
    file->writer_ = std::make_unique<trace::JsonTraceWriter>(file->tables_, *file->sink_);
  }
  return file;
}

}  // namespace graphtree
