// Runs a command line in a test, and keeps what it said.
#ifndef GRAPHTREE_TOOLS_CLI_RUN_VERBS_H_
#define GRAPHTREE_TOOLS_CLI_RUN_VERBS_H_

#include <sstream>
#include <string>
#include <vector>

#include "tools/cli/registry.h"

namespace graphtree::cli {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

inline Outcome RunVerbs(const Registry& registry, const std::vector<std::string>& words) {
  std::istringstream in;
  std::ostringstream out, err;
  const int code = registry.Run(words, {in, out, err});
  return {code, out.str(), err.str()};
}

}  // namespace graphtree::cli

#endif  // GRAPHTREE_TOOLS_CLI_RUN_VERBS_H_
