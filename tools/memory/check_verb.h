// `graphtree memory check`: is the file consistent.
#ifndef GRAPHTREE_TOOLS_MEMORY_CHECK_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_CHECK_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb CheckVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_CHECK_VERB_H_
