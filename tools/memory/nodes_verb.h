// `graphtree memory nodes`: bytes by tree node.
#ifndef GRAPHTREE_TOOLS_MEMORY_NODES_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_NODES_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb NodesVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_NODES_VERB_H_
