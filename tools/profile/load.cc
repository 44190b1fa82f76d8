// How far the reading has come, on a line of its own.
#include "tools/profile/load.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/cli/progress.h"
#include "tools/memory/text.h"
#include "tools/trace/read/trace_reader.h"

namespace graphtree::profile {
namespace {

constexpr uint64_t kQuietBytes = 256 << 20;
constexpr uint64_t kStepBytes = 64 << 20;

}  // namespace

absl::Status Load(const std::string& path, trace::TraceTables& tables,
                  trace::TraceListener& listener, cli::Console& console) {
  cli::ProgressLine line(console.err);
  uint64_t shown = 0;
  const auto progress = [&](uint64_t done, uint64_t total) {
    const bool large = total == 0 ? done > kQuietBytes : total > kQuietBytes;
    if (!large || done < shown + kStepBytes) return;
    shown = done;
    const std::string share =
        total == 0 ? ""
                   : absl::StrFormat(" of %s (%d %%)", memory::Bytes(total), 100 * done / total);
    line.Show(absl::StrCat("reading ", path, ": ", memory::Bytes(done), share));
  };
  const absl::Status status = trace::ReadTrace(path, tables, listener, progress);
  line.Clear();
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

cli::Operand TraceOperand(const std::string& name) {
  return {.name = name,
          .help = "A trace in Chrome's JSON, written by Graphtree or by PyTorch's profiler "
                  "(export_chrome_trace), also compressed by gzip; - reads the standard input."};
}

std::string BaseName(const std::string& path) {
  return path == "-" ? "standard input" : path.substr(path.find_last_of('/') + 1);
}

}  // namespace graphtree::profile
