// What the verbs that look into a running server share: the operand, the page, looks at intervals.
#ifndef GRAPHTREE_TOOLS_WATCH_LOOKING_H_
#define GRAPHTREE_TOOLS_WATCH_LOOKING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/cli/arguments.h"
#include "tools/cli/verb.h"
#include "tools/watch/samples.h"

namespace graphtree::watch {

cli::Operand SocketOperand();
// --every and --count.
std::vector<cli::Option> LookOptions();

// The page's text. What the door refuses is an error with its words.
absl::StatusOr<std::string> PageOf(const std::string& path, absl::string_view target);

// Looks at a page of samples at intervals, until `count` were shown, the server goes, or somebody
// interrupts.
struct Looks {
  std::string verb;
  std::string target;         // the page
  uint64_t count = 0;         // 0: no end
  bool shows_first = true;    // false: the first look is only what the second is held against
  // Called with the last look, null at the first, and this one, `seconds` apart.
  std::function<void(const Samples* before, const Samples& after, double seconds)> show;
};
// An exit code. A server that goes after something was shown is no error.
int Look(const Looks& looks, const cli::Arguments& arguments, cli::Console& console);

// Is this the process's stdout, and a person in front of it?
bool IsTerminal(const std::ostream& out);
// "12:01:33"
std::string ClockText();

}  // namespace graphtree::watch

#endif  // GRAPHTREE_TOOLS_WATCH_LOOKING_H_
