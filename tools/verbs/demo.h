// `graphtree demo`: a day of a small server's, served three ways on one device.
#ifndef GRAPHTREE_TOOLS_VERBS_DEMO_H_
#define GRAPHTREE_TOOLS_VERBS_DEMO_H_

#include "tools/cli/verb.h"

namespace graphtree {

cli::Verb DemoVerb();

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_DEMO_H_
