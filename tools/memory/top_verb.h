// `graphtree memory top`: the largest holders of memory.
#ifndef GRAPHTREE_TOOLS_MEMORY_TOP_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_TOP_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb TopVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_TOP_VERB_H_
