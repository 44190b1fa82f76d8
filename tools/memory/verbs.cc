// The list of memory verbs.
#include "tools/memory/verbs.h"

namespace graphtree::memory {

std::vector<cli::Verb> MemoryVerbs() {
  return {StatsVerb(), TopVerb(), MapVerb(), TimelineVerb(), DiffVerb(), LeaksVerb(), FragVerb(),
          OomVerb(), ReplayVerb(), FlameVerb(), HtmlVerb(), NodesVerb(), QueryVerb(), CheckVerb(),
          ConvertVerb()};
}

}  // namespace graphtree::memory
