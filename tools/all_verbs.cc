// The list of verbs.
#include "tools/all_verbs.h"

#include "tools/verbs/version.h"

namespace graphtree {

cli::Registry AllVerbs() {
  cli::Registry registry;
  registry.Add(VersionVerb());
  return registry;
}

}  // namespace graphtree
