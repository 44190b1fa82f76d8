// The verbs of `graphtree memory`: each is a file of its own, NAME_verb.cc.
#ifndef GRAPHTREE_TOOLS_MEMORY_VERBS_H_
#define GRAPHTREE_TOOLS_MEMORY_VERBS_H_

#include <vector>

#include "tools/cli/verb.h"

namespace graphtree::memory {

// All of them, in the order in which help lists them.
std::vector<cli::Verb> MemoryVerbs();

cli::Verb StatsVerb();     // the totals of a snapshot
cli::Verb TopVerb();       // the largest holders of memory
cli::Verb MapVerb();       // segments and blocks drawn to scale
cli::Verb TimelineVerb();  // bytes over the history, the peak and what was alive at it
cli::Verb DiffVerb();      // what changed between two snapshots
cli::Verb LeaksVerb();     // what grows in every interval
cli::Verb FragVerb();      // why free bytes cannot be used
cli::Verb OomVerb();       // why an allocation failed
cli::Verb ReplayVerb();    // the history under other policies
cli::Verb FlameVerb();     // who holds memory, by stack, as folded text or as a picture
cli::Verb HtmlVerb();      // the snapshot as one page for a browser
cli::Verb NodesVerb();     // bytes by tree node
cli::Verb QueryVerb();     // filters over blocks and history
cli::Verb CheckVerb();     // is the file consistent
cli::Verb ConvertVerb();   // a snapshot in another file format

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_VERBS_H_
