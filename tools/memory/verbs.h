// The verbs of `graphtree memory`, in the order in which help lists them.
#ifndef GRAPHTREE_TOOLS_MEMORY_VERBS_H_
#define GRAPHTREE_TOOLS_MEMORY_VERBS_H_

#include <vector>

#include "tools/cli/verb.h"

namespace graphtree::memory {

std::vector<cli::Verb> MemoryVerbs();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_VERBS_H_
