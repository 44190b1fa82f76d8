// `graphtree memory convert`: a snapshot in another file format.
#ifndef GRAPHTREE_TOOLS_MEMORY_CONVERT_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_CONVERT_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb ConvertVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_CONVERT_VERB_H_
