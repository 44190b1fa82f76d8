// Help as text, made from the data in a Verb. Nothing else in the project writes help by hand.
#ifndef GRAPHTREE_TOOLS_CLI_HELP_H_
#define GRAPHTREE_TOOLS_CLI_HELP_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/cli/verb.h"

namespace graphtree::cli {

// One verb: usage, what it does, operands, options, examples.
std::string RenderHelp(const Verb& verb);

// A list of verbs, one line each. family: "" for all, or the first word that they share.
std::string RenderOverview(const std::vector<const Verb*>& verbs, absl::string_view family);

// "graphtree diff [--json] BEFORE AFTER"
std::string UsageLine(const Verb& verb);

// The same for people: "Usage: " and the line, wrapped.
std::string RenderUsage(const Verb& verb);

// "--out FILE", "--format json|text", "--json"
std::string OptionForm(const Option& option);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_HELP_H_
