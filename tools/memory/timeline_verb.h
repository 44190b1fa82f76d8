// `graphtree memory timeline`: bytes over the history, the peak and what was alive at it.
#ifndef GRAPHTREE_TOOLS_MEMORY_TIMELINE_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_TIMELINE_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb TimelineVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_TIMELINE_VERB_H_
