// On a terminal the same screen over and over; elsewhere one block of text for each look.
#include <ostream>

#include "tools/cli/arguments.h"
#include "tools/watch/looking.h"
#include "tools/watch/server_view.h"
#include "tools/watch/verbs.h"

namespace graphtree::watch {
namespace {

// The cursor goes home, and what was there is gone.
constexpr char kClear[] = "\033[H\033[2J";

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const bool is_terminal = IsTerminal(console.out);
  const bool is_json = arguments.Has("--json");
  bool is_first = true;
  const auto show = [&](const Samples* before, const Samples& after, double seconds) {
    const TwoLooks looks = {*before, after, seconds};
    if (is_json) {
      console.out << TopJson(looks) << "\n";
      return;
    }
    if (is_terminal) {
      console.out << kClear;
    } else if (!is_first) {
      console.out << "\n";
    }
    is_first = false;
    console.out << TopText(looks, ClockText());
  };
  return Look({.verb = "top",
               .target = "/metrics",
               .count = is_terminal ? uint64_t{0} : uint64_t{1},
               .shows_first = false,
               .show = show},
              arguments, console);
}

}  // namespace

cli::Verb TopVerb() {
  std::vector<cli::Option> options = LookOptions();
  options.push_back(cli::JsonOption());
  return {.name = "top",
          .summary = "Show what a running server does: steps, replays, reasons, bytes.",
          .description =
              "Looks into a running server through its door, once a second: steps a second and how "
              "many of them were replayed, why the others were not, what is recorded now, and who "
              "has how much memory. On a terminal until it is interrupted; elsewhere once, unless "
              "--count says otherwise. With --json a line for each look.",
          .operands = {SocketOperand()},
          .options = options,
          .examples = {{"graphtree top /tmp/server.sock", "until Ctrl-C"},
                       {"graphtree top /tmp/server.sock --every 10 --count 6 > minute.txt",
                        "six blocks of text, for a file"},
                       {"graphtree top /tmp/server.sock --json", "one line for a script"}},
          .run = Run};
}

std::vector<cli::Verb> WatchVerbs() {
  return {TopVerb(), ExplainVerb(), MemoryWatchVerb(), ProfileAttachVerb()};
}

}  // namespace graphtree::watch
