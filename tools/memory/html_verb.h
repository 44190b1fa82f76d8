// `graphtree memory html`: the snapshot as one page for a browser.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_VERB_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_VERB_H_

#include "tools/cli/verb.h"

namespace graphtree::memory {

cli::Verb HtmlVerb();

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_VERB_H_
