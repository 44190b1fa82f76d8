// Prints what the server says; it says it in words.
#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/watch/door_client.h"
#include "tools/watch/looking.h"
#include "tools/watch/verbs.h"

namespace graphtree::watch {
namespace {

constexpr int64_t kSteps = 10;
constexpr int64_t kMostSteps = 1000;

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const int64_t steps = arguments.Integer("--steps", kSteps);
  if (steps < 0 || steps > kMostSteps) {
    console.err << "graphtree explain: --steps " << steps << " is not between 0 and " << kMostSteps
                << ", as many as a server keeps\n";
    return cli::kWrongUse;
  }
  std::string target = absl::StrCat("/debug/explain?steps=", steps);
  const std::string program = arguments.OperandAt(1);
  if (!program.empty()) absl::StrAppend(&target, "&program=", Escaped(program));
  if (arguments.Has("--json")) absl::StrAppend(&target, "&format=json");
  const absl::StatusOr<std::string> page = PageOf(arguments.OperandAt(0), target);
  if (!page.ok()) return cli::BadInput(console, "explain", page.status());
  console.out << *page << (arguments.Has("--json") ? "\n" : "");
  return cli::kFine;
}

}  // namespace

cli::Verb ExplainVerb() {
  return {.name = "explain",
          .summary = "Say why a running server's steps ran as they did.",
          .description =
              "For each program: its shapes, how often each served, what was not replayed, and "
              "what would make it replay; then the last steps one by one, and what runs at this "
              "moment. It waits for no step, so it also answers while one hangs.",
          .operands = {SocketOperand(),
                       {.name = "PROGRAM", .help = "Only this one.", .optional = true}},
          .options = {{.name = "--steps",
                       .kind = cli::ValueKind::kInteger,
                       .value_name = "N",
                       .help = "So many of the last steps, up to 1000; 10."},
                      cli::JsonOption()},
          .examples = {{"graphtree explain /tmp/server.sock", "all programs"},
                       {"graphtree explain /tmp/server.sock decode --steps 100",
                        "one program, and more of its steps"}},
          .run = Run};
}

}  // namespace graphtree::watch
