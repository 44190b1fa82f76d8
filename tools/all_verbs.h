// Every verb of `graphtree`, in the order in which help lists them. A new verb adds its line in
// all_verbs.cc, one of `graphtree memory` in memory/verbs.cc.
#ifndef GRAPHTREE_TOOLS_ALL_VERBS_H_
#define GRAPHTREE_TOOLS_ALL_VERBS_H_

#include "tools/cli/registry.h"

namespace graphtree {

cli::Registry AllVerbs();

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_ALL_VERBS_H_
