// `graphtree memory map`: segments and blocks drawn to scale.
#ifndef GRAPHTREE_TOOLS_MEMORY_MAP_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_MAP_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb MapVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_MAP_VERB_H_
