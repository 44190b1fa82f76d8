// A line for each look, and the heading again after a screenful.
#include <ostream>

#include "tools/cli/arguments.h"
#include "tools/watch/looking.h"
#include "tools/watch/memory_view.h"
#include "tools/watch/verbs.h"

namespace graphtree::watch {
namespace {

constexpr int kLinesUnderHeading = 20;

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const bool is_json = arguments.Has("--json");
  int lines = 0;
  const auto show = [&](const Samples* before, const Samples& after, double) {
    if (is_json) {
      console.out << MemoryJson(after) << "\n";
      return;
    }
    if (lines++ % kLinesUnderHeading == 0) console.out << MemoryHeading();
    console.out << MemoryLine(before, after, ClockText());
  };
  return Look({.verb = "memory watch", .target = "/metrics/memory", .show = show}, arguments,
              console);
}

}  // namespace

cli::Verb MemoryWatchVerb() {
  std::vector<cli::Option> options = LookOptions();
  options.push_back(cli::JsonOption());
  return {.name = "memory watch",
          .summary = "Follow the memory of a running server, and which graphs changed it.",
          .description =
              "A line for each look into a running server, once a second, until it is interrupted "
              "or the server ends: all that the device has given, executables, the pool's bytes "
              "that graphs use and those that are idle, slots, code; workspaces and the host's "
              "bytes stand beside that. Below a line: the recorded functions whose own bytes "
              "changed.",
          .operands = {SocketOperand()},
          .options = options,
          .examples = {{"graphtree memory watch /tmp/server.sock", "until Ctrl-C"},
                       {"graphtree memory watch /tmp/server.sock --every 60 --json > memory.jsonl",
                        "a line a minute for a script"}},
          .run = Run};
}

}  // namespace graphtree::watch
