// `graphtree completion` and `graphtree man`: what shells and man(1) read, from the verbs' help.
#ifndef GRAPHTREE_TOOLS_VERBS_SHELL_H_
#define GRAPHTREE_TOOLS_VERBS_SHELL_H_

#include <functional>
#include <vector>

#include "tools/cli/verb.h"

namespace graphtree {

// Called when the verb runs, since the list contains the verb itself.
using VerbList = std::function<std::vector<cli::Verb>()>;

cli::Verb CompletionVerb(VerbList verbs);
cli::Verb ManVerb(VerbList verbs);

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_SHELL_H_
