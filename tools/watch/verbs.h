// The verbs of `graphtree` that look into a running server, through its door for tools.
#ifndef GRAPHTREE_TOOLS_WATCH_VERBS_H_
#define GRAPHTREE_TOOLS_WATCH_VERBS_H_

#include <vector>

#include "tools/cli/verb.h"

namespace graphtree::watch {

// All of them, in the order in which help lists them.
std::vector<cli::Verb> WatchVerbs();

cli::Verb TopVerb();          // steps, reasons and bytes, look by look
cli::Verb ExplainVerb();      // why steps ran as they did
cli::Verb MemoryWatchVerb();  // who holds memory, look by look
cli::Verb ProfileAttachVerb();  // a window of what it does, as a trace

}  // namespace graphtree::watch

#endif  // GRAPHTREE_TOOLS_WATCH_VERBS_H_
