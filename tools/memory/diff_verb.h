// `graphtree memory diff`: what changed between two snapshots.
#ifndef GRAPHTREE_TOOLS_MEMORY_DIFF_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_DIFF_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb DiffVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_DIFF_VERB_H_
