// `graphtree demo`: a chain of small kernels, eager against replay, on every device that is there.
#ifndef GRAPHTREE_TOOLS_VERBS_DEMO_H_
#define GRAPHTREE_TOOLS_VERBS_DEMO_H_

#include "tools/cli/verb.h"

namespace graphtree {

cli::Verb DemoVerb();

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_DEMO_H_
