// The list of memory verbs.
#include "tools/memory/verbs.h"

#include "tools/memory/check_verb.h"
#include "tools/memory/convert_verb.h"
#include "tools/memory/diff_verb.h"
#include "tools/memory/flame_verb.h"
#include "tools/memory/frag_verb.h"
#include "tools/memory/html_verb.h"
#include "tools/memory/leaks_verb.h"
#include "tools/memory/map_verb.h"
#include "tools/memory/nodes_verb.h"
#include "tools/memory/oom_verb.h"
#include "tools/memory/query_verb.h"
#include "tools/memory/replay_verb.h"
#include "tools/memory/stats_verb.h"
#include "tools/memory/timeline_verb.h"
#include "tools/memory/top_verb.h"

namespace graphtree::memory {

std::vector<cli::Verb> MemoryVerbs() {
  return {StatsVerb(), TopVerb(), MapVerb(), TimelineVerb(), DiffVerb(),
          LeaksVerb(), FragVerb(), OomVerb(), ReplayVerb(), FlameVerb(),
          HtmlVerb(), NodesVerb(), QueryVerb(), CheckVerb(),
          ConvertVerb()};
}

}  // namespace graphtree::memory
