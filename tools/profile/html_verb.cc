// Reads a trace and writes the page.
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output_file.h"
#include "tools/cli/registry.h"
#include "tools/memory/same_file.h"
#include "tools/memory/text.h"
#include "tools/profile/html_page.h"
#include "tools/profile/load.h"
#include "tools/profile/replay_stacks.h"
#include "tools/profile/verbs.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

constexpr size_t kMostRecords = 4 << 20;  // some 400 MB while the page is made
constexpr size_t kMostCells = 400'000;    // ops of replays on the page: some 5 MB

// trace.json -> trace.html, in the folder where the command runs.
std::string DefaultOutput(const std::string& path) {
  if (path == "-") return "trace.html";
  const std::string name = BaseName(path);
  const size_t dot = name.find_last_of('.');
  return absl::StrCat(dot == std::string::npos || dot == 0 ? name : name.substr(0, dot), ".html");
}

absl::Status WritePage(const cli::Arguments& arguments, const std::string& out,
                       cli::Console& console) {
  const std::string path = arguments.OperandAt(0);
  trace::TraceTables tables;
  trace::TraceStore store(kMostRecords);
  GRAPHTREE_RETURN_IF_ERROR(cli::MayWrite(out));
  GRAPHTREE_RETURN_IF_ERROR(Load(path, tables, store, console));
  trace::TraceStatistics statistics(tables);
  store.Replay(statistics);
  std::vector<std::string> warnings = Warnings(statistics);
  if (store.dropped() != 0) {
    warnings.push_back(absl::StrCat("The page holds the first ", memory::Count(kMostRecords),
                                    " records; ", memory::Count(store.dropped()),
                                    " came after them."));
  }
  const std::vector<ReplayKind> kinds = StackReplays(store, tables, kMostCells);
  const std::string page = RenderHtml(BaseName(path), statistics, kinds, warnings);
  GRAPHTREE_RETURN_IF_ERROR(cli::WriteOutput(out, page, console));
  if (out != "-") {
    console.out << "wrote " << out << " (" << memory::Bytes(page.size())
                << "): open it in a browser, it needs no network\n";
  }
  return absl::OkStatus();
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const std::string in = arguments.OperandAt(0);
  const std::string out = arguments.Text("--out", DefaultOutput(in));
  if (memory::SameFile(in, out)) {
    console.err << "graphtree profile html: " << memory::SameFileText(in, out);
    return cli::kWrongUse;
  }
  const absl::Status status = WritePage(arguments, out, console);
  return status.ok() ? cli::kFine : cli::BadInput(console, "profile html", status);
}

}  // namespace

cli::Verb HtmlVerb() {
  return {
      .name = "profile html",
      .summary = "Write a trace as one page that lays replays over one another, op by op.",
      .description =
          "The page holds everything it needs and opens from disk. Replays of one graph stand in "
          "rows over one another, with their ops in colour, so that a slow one is seen, and which "
          "of its ops made it so; each op has its spread over all replays beside what it took in "
          "the replay that is selected, at first the slowest. It works at the width of a phone, "
          "and follows the system's dark setting.\n\n"
          "Of a trace with more replays than a page holds the slowest stay, and of the others an "
          "even choice; the page says so.",
      .operands = {TraceOperand()},
      .options = {{.name = "--out",
                   .kind = cli::ValueKind::kText,
                   .value_name = "OUT.html",
                   .help = "Where to write the page; - is the standard output. Default: the name "
                           "of TRACE with .html, in the current folder.",
                   .short_name = "-o"}},
      .examples = {{"graphtree profile html trace.json", "writes trace.html"},
                   {"graphtree profile html trace.json -o slow.html", "under another name"}},
      .run = Run};
}

}  // namespace graphtree::profile
