// A verb is one thing that `graphtree` can do: `graphtree version`, `graphtree memory diff A B`.
//
// A verb is data plus one function. The data says which options and operands it takes; the parser
// (arguments.h), the help text (help.h), and whatever else is made from help later (a man page,
// shell completion) all read the same data, so they cannot disagree.
//
//   Verb VersionVerb() {
//     return {.name = "version",
//             .summary = "Say which Graphtree this is.",
//             .options = {JsonOption()},
//             .examples = {{"graphtree version", "one line for people"}},
//             .run = PrintVersion};
//   }
//
// To add a verb: write one such file, and add one line to AllVerbs() in tools/all_verbs.cc,
// or to MemoryVerbs() in tools/memory/verbs.cc.
// A name may have several words ("memory diff"); verbs that share a first word are a family.
#ifndef GRAPHTREE_TOOLS_CLI_VERB_H_
#define GRAPHTREE_TOOLS_CLI_VERB_H_

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace graphtree::cli {

class Arguments;

// What the process says to the shell. A verb returns one of these.
enum ExitCode : int {
  kFine = 0,            // did what was asked
  kFoundSomething = 1,  // did it, and the answer is bad news: a leak, a difference, a failed row
  kWrongUse = 2,        // the command line makes no sense; nothing was done
  kBadInput = 3,        // the command line is fine, what it names is not: no file, no device
};

// How an option's value is read. The parser refuses a value of the wrong kind before the verb runs.
enum class ValueKind {
  kFlag,     // no value: --json
  kText,     // any text: --out FILE
  kInteger,  // a whole number: --steps 100
  kNumber,   // any number: --threshold 0.5
  kBytes,    // a size: 4096, 64K, 8MiB, 1.5GiB; K, M, G are powers of 1024
  kChoice,   // one of `choices`: --format json
};

struct Option {
  std::string name = {};  // with its dashes: "--out"
  ValueKind kind = ValueKind::kFlag;
  std::string value_name = {};  // how help calls the value: "FILE"; not for flags and choices
  std::string help = {};        // one sentence, with the default where there is one
  std::vector<std::string> choices = {};
  bool repeats = false;  // may be given several times
  std::string short_name = {};  // where people expect one: "-o"
};

// What stands on the command line without dashes. A required one must not follow an optional one,
// and only the last may repeat.
struct Operand {
  std::string name = {};  // how help calls it: "SNAPSHOT"
  std::string help = {};
  bool optional = false;
  bool repeats = false;
};

struct Example {
  std::string command = {};
  std::string what = {};  // what it shows, in a few words
};

// Where a verb reads and writes; tests hand in string streams.
struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

struct Verb {
  std::string name = {};
  std::string summary = {};      // one sentence; the overview shows it
  std::string description = {};  // paragraphs for the verb's own help; may be empty
  std::vector<Operand> operands = {};
  std::vector<Option> options = {};
  std::vector<Example> examples = {};  // at least one
  std::function<int(const Arguments&, Console&)> run = {};
};

// The flag that every verb with something to say to a script has.
inline Option JsonOption() {
  return {.name = "--json", .help = "Write JSON for scripts instead of text for people."};
}

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_VERB_H_
