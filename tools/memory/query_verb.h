// `graphtree memory query`: filters over blocks and history.
#ifndef GRAPHTREE_TOOLS_MEMORY_QUERY_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_QUERY_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb QueryVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_QUERY_VERB_H_
