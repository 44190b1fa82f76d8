// `graphtree memory stats`: the totals of a snapshot.
#ifndef GRAPHTREE_TOOLS_MEMORY_STATS_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_STATS_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb StatsVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_STATS_VERB_H_
