// `graphtree demo --serve`: a server that stays until it is interrupted, for tools to look into.
#ifndef GRAPHTREE_TOOLS_VERBS_DEMO_SERVE_H_
#define GRAPHTREE_TOOLS_VERBS_DEMO_SERVE_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/cli/verb.h"
#include "tools/demo_model/comparison.h"
#include "tools/demo_model/trace.h"

namespace graphtree {

// Says where its door is: at options.door, or in a place of this user's. Ends at the first SIGINT,
// SIGTERM or SIGHUP with what came of it; a second one ends the process at once.
int ServeUntilInterrupted(const std::string& device,
                          const std::function<std::vector<demo::Request>(int day)>& requests,
                          const demo::DemoOptions& options, cli::Console& console);

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_DEMO_SERVE_H_
