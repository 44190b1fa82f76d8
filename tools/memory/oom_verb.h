// `graphtree memory oom`: why an allocation failed.
#ifndef GRAPHTREE_TOOLS_MEMORY_OOM_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_OOM_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb OomVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_OOM_VERB_H_
