// Shell completion, made from the same data as help: it knows exactly what the parser takes.
//
// Completed: verbs word by word, a verb's options, the values of an option with choices, and file
// names wherever else a word is due.
#ifndef GRAPHTREE_TOOLS_CLI_COMPLETION_H_
#define GRAPHTREE_TOOLS_CLI_COMPLETION_H_

#include <string>
#include <vector>

#include "tools/cli/verb.h"

namespace graphtree::cli {

std::string BashCompletion(const std::vector<Verb>& verbs);
std::string ZshCompletion(const std::vector<Verb>& verbs);
std::string FishCompletion(const std::vector<Verb>& verbs);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_COMPLETION_H_
