// The list of profile verbs.
#include "tools/profile/verbs.h"

namespace graphtree::profile {

std::vector<cli::Verb> ProfileVerbs() {
  return {ShowVerb(), DiffVerb(), ConvertVerb(), HtmlVerb()};
}

}  // namespace graphtree::profile
