// `graphtree memory leaks`: what grows in every interval.
#ifndef GRAPHTREE_TOOLS_MEMORY_LEAKS_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_LEAKS_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb LeaksVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_LEAKS_VERB_H_
