// The list of memory verbs.
#include "tools/memory/verbs.h"

#include "tools/memory/convert_verb.h"
#include "tools/memory/html_verb.h"
#include "tools/memory/stats_verb.h"

namespace graphtree::memory {

std::vector<cli::Verb> MemoryVerbs() { return {StatsVerb(), HtmlVerb(), ConvertVerb()}; }

}  // namespace graphtree::memory
