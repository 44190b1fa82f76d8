// `graphtree version`: which Graphtree this is and how it was built.
#ifndef GRAPHTREE_TOOLS_VERBS_VERSION_H_
#define GRAPHTREE_TOOLS_VERBS_VERSION_H_

#include "tools/cli/verb.h"

namespace graphtree {

cli::Verb VersionVerb();

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_VERSION_H_
