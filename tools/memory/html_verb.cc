// Reads one or two snapshots and writes the page.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/html_page.h"
#include "tools/memory/load.h"
#include "tools/cli/output_file.h"
#include "tools/memory/page/parts.h"
#include "tools/memory/same_file.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"

namespace graphtree::memory {
namespace {

std::string BaseName(const std::string& path) {
  if (path == "-") return "standard input";
  return path.substr(path.find_last_of('/') + 1);
}

// train.pickle -> train.html, in the folder where the command runs.
std::string DefaultOutput(const std::string& path) {
  if (path == "-") return "snapshot.html";
  const std::string name = BaseName(path);
  const size_t dot = name.find_last_of('.');
  return absl::StrCat(dot == std::string::npos || dot == 0 ? name : name.substr(0, dot), ".html");
}

absl::Status WritePage(const cli::Arguments& arguments, cli::Console& console) {
  std::vector<std::string> paths = {arguments.OperandAt(0)};
  if (arguments.Has("--against")) paths.push_back(arguments.Text("--against"));
  std::vector<std::unique_ptr<snapshot::Snapshot>> snapshots;
  std::vector<HtmlSource> sources;
  for (const std::string& path : paths) {
    GRAPHTREE_ASSIGN_OR_RETURN(auto loaded, Load(path, console));
    snapshots.push_back(std::move(loaded));
    sources.push_back({BaseName(path), snapshots.back().get()});
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const std::string page, RenderHtml(sources, Parts()));
  const std::string out = arguments.Text("--out", DefaultOutput(paths[0]));
  GRAPHTREE_RETURN_IF_ERROR(cli::WriteOutput(out, page, console));
  if (out != "-") {
    console.out << "wrote " << out << " (" << Bytes(page.size())
                << "): open it in a browser, it needs no network\n";
  }
  return absl::OkStatus();
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  if (!Parts().missing.empty()) {
    console.err << "graphtree memory html: " << RenderHtml({}, Parts()).status().message() << "\n";
    return cli::kWrongUse;
  }
  if (!StandardInputOnce({arguments.OperandAt(0), arguments.Text("--against")}, "memory html",
                         console)) {
    return cli::kWrongUse;
  }
  const std::string out = arguments.Text("--out", DefaultOutput(arguments.OperandAt(0)));
  for (const std::string& in : {arguments.OperandAt(0), arguments.Text("--against", "-")}) {
    if (!SameFile(in, out)) continue;
    console.err << "graphtree memory html: " << SameFileText(in, out);
    return cli::kWrongUse;
  }
  const absl::Status status = WritePage(arguments, console);
  return status.ok() ? cli::kFine : cli::BadInput(console, "memory html", status);
}

}  // namespace

cli::Verb HtmlVerb() {
  return {
      .name = "memory html",
      .summary = "Write a memory snapshot as one page for a browser.",
      .description =
          "The page holds everything it needs and opens from disk. It shows every allocation of "
          "the "
          "history as a band, the segments at any moment, who allocated what with its stack, and "
          "finds allocations by stack, address, size or pool. It zooms and pans over millions of "
          "events, works on a phone, and follows the system's dark setting.\n\n"
          "With --against the two snapshots stand side by side in the same colours, with a table "
          "of what grew and what shrank from FILE to the other.",
      .operands = {SnapshotOperand()},
      .options = {{.name = "--out",
                   .kind = cli::ValueKind::kText,
                   .value_name = "OUT.html",
                   .help = "Where to write the page; - is the standard output. Default: the name "
                           "of FILE with .html, in the current folder.",
                   .short_name = "-o"},
                  {.name = "--against",
                   .kind = cli::ValueKind::kText,
                   .value_name = "OTHER",
                   .help = "A second snapshot, usually a later one, to show beside FILE."}},
      .examples = {{"graphtree memory html oom.pickle", "writes oom.html"},
                   {"graphtree memory html step9.pickle --against step39.pickle -o growth.html",
                    "what grew in thirty steps"}},
      .run = Run};
}

}  // namespace graphtree::memory
