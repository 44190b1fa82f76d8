// The verbs of `graphtree profile`: each is a file of its own, NAME_verb.cc.
#ifndef GRAPHTREE_TOOLS_PROFILE_VERBS_H_
#define GRAPHTREE_TOOLS_PROFILE_VERBS_H_

#include <vector>

#include "tools/cli/verb.h"

namespace graphtree::profile {

// All of them, in the order in which help lists them.
std::vector<cli::Verb> ProfileVerbs();

cli::Verb ShowVerb();     // where the time of a trace went
cli::Verb DiffVerb();     // which op became slower
cli::Verb ConvertVerb();  // a trace in another format
cli::Verb HtmlVerb();     // replays stacked over one another, as one page for a browser

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_VERBS_H_
