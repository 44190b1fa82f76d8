// `graphtree memory frag`: why free bytes cannot be used.
#ifndef GRAPHTREE_TOOLS_MEMORY_FRAG_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_FRAG_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb FragVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_FRAG_VERB_H_
