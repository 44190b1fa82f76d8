// The manual page, made from the same data as help.
#ifndef GRAPHTREE_TOOLS_CLI_MAN_PAGE_H_
#define GRAPHTREE_TOOLS_CLI_MAN_PAGE_H_

#include <string>
#include <vector>

#include "tools/cli/verb.h"

namespace graphtree::cli {

// graphtree(1) in the language of troff.
std::string ManPage(const std::vector<Verb>& verbs, const std::string& version);

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_MAN_PAGE_H_
