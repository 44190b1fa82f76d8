// Asks the door of a running server for a window of what runs there, and writes it.
#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output_file.h"
#include "tools/cli/registry.h"
#include "tools/cli/verb.h"
#include "tools/watch/door_client.h"
#include "tools/watch/looking.h"
#include "tools/watch/verbs.h"

namespace graphtree::watch {
namespace {

constexpr int64_t kReplays = 100;
constexpr int64_t kMs = 1000;
constexpr int64_t kMostMs = 3000;

int Refuse(cli::Console& console, const std::string& why) {
  console.err << "graphtree profile attach: " << why << "\n";
  return cli::kWrongUse;
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const std::string out = arguments.OperandAt(1);
  if (out != "-" && !absl::EndsWith(out, ".json")) {
    return Refuse(console, absl::StrCat("\"", out, "\": a server's trace is JSON, so name the file "
                                        ".json; `graphtree profile convert` makes other formats"));
  }
  const int64_t replays = arguments.Integer("--replays", kReplays);
  const int64_t ms = arguments.Integer("--ms", kMs);
  if (replays < 1 || ms < 1 || ms > kMostMs) {
    return Refuse(console, absl::StrCat("a window of ", replays, " replays and ", ms,
                                        " ms: both are at least 1, and --ms at most ", kMostMs));
  }
  const absl::Status may_write = cli::MayWrite(out);
  if (!may_write.ok()) return cli::BadInput(console, "profile attach", may_write);
  const std::string page = absl::StrCat("/profile?mode=", arguments.Text("--mode", "full"),
                                        "&replays=", replays, "&ms=", ms,
                                        arguments.Has("--force") ? "&force=1" : "");
  const absl::StatusOr<std::string> trace = PageOf(arguments.OperandAt(0), page);
  if (!trace.ok()) return cli::BadInput(console, "profile attach", trace.status());
  const absl::Status written = cli::WriteOutput(out, *trace, console);
  if (!written.ok()) return cli::BadInput(console, "profile attach", written);
  console.err << "graphtree profile attach: " << trace->size() << " bytes of trace; graphtree "
              << "profile show " << out << "\n";
  return cli::kFine;
}

}  // namespace

cli::Verb ProfileAttachVerb() {
  return {.name = "profile attach",
          .summary = "Profile a running server for a window of replays, and detach again.",
          .description =
              "Asks a running server through its door for a window of what it does: so many "
              "replays, or so many milliseconds if these are over sooner. The server goes on "
              "meanwhile, and its launches cost the same before and after. Where the server cannot "
              "have every op (its CUPTI is missing, blocked or held by another profiler) the trace "
              "times launches as a whole, and says why.",
          .operands = {SocketOperand(), {.name = "OUT",
                                         .help = "What to write, a .json file; - is the standard "
                                                 "output."}},
          .options = {{.name = "--mode",
                       .kind = cli::ValueKind::kChoice,
                       .help = "host: launches and phases alone; light: with each launch's time on "
                               "the device; full: every op. full.",
                       .choices = {"host", "light", "full"}},
                      {.name = "--replays",
                       .kind = cli::ValueKind::kInteger,
                       .value_name = "N",
                       .help = "The window is over after so many replays; 100."},
                      {.name = "--ms",
                       .kind = cli::ValueKind::kInteger,
                       .value_name = "N",
                       .help = "Or after so many milliseconds, up to 3000; 1000."},
                      {.name = "--force",
                       .help = "At the end CUPTI leaves also while others in the server launch "
                               "graphs past this library, which may break their work. Without it, "
                               "it stays until they rest, and makes each launch slower."}},
          .examples = {{"graphtree profile attach /tmp/server.sock window.json",
                        "then `graphtree profile show window.json`"},
                       {"graphtree profile attach /tmp/server.sock window.json --mode light",
                        "where CUPTI may not be used"}},
          .run = Run};
}

}  // namespace graphtree::watch
