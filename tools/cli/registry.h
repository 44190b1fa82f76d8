// All verbs of one program, and the way from a command line to the verb that it names.
//
//   cli::Registry registry;
//   registry.Add(VersionVerb());
//   return registry.Run({argv + 1, argv + argc}, {std::cin, std::cout, std::cerr});
//
// `--help` (or `help VERB`), the overview, a family's overview and the errors for unknown verbs are
// handled here, so that a verb's function only ever sees a command line that makes sense.
#ifndef GRAPHTREE_TOOLS_CLI_REGISTRY_H_
#define GRAPHTREE_TOOLS_CLI_REGISTRY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/cli/verb.h"

namespace graphtree::cli {

class Registry {
 public:
  // The verb must be complete and its name new; both are checked.
  void Add(Verb verb);
  void Add(std::vector<Verb> family);

  // In the order in which they were added.
  const std::vector<Verb>& verbs() const { return verbs_; }

  // Runs the verb that the words name and returns its exit code. args: without the program's name.
  int Run(const std::vector<std::string>& args, Console console) const;

 private:
  // The verb whose name is the longest run of words at the start, and how many words that is.
  const Verb* Find(const std::vector<std::string>& args, size_t* words) const;
  std::vector<const Verb*> Family(absl::string_view first_word) const;
  int Dispatch(const std::vector<std::string>& args, Console& console) const;
  int ShowHelp(const std::vector<std::string>& args, Console& console) const;
  int RefuseUnknown(const std::vector<std::string>& args, Console& console) const;

  std::vector<Verb> verbs_;
};

// Prints "graphtree NAME: what went wrong" and returns kBadInput: the one way to end on bad input.
int BadInput(Console& console, absl::string_view verb, const absl::Status& status);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_REGISTRY_H_
