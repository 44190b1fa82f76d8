// `graphtree memory flame`: who holds memory, by stack, as folded text or as a picture.
#ifndef GRAPHTREE_TOOLS_MEMORY_FLAME_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_FLAME_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb FlameVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_FLAME_VERB_H_
