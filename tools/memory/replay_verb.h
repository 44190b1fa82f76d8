// `graphtree memory replay`: the history under other policies.
#ifndef GRAPHTREE_TOOLS_MEMORY_REPLAY_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_REPLAY_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb ReplayVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_REPLAY_VERB_H_
