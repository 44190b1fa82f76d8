// `graphtree profile doctor`: which modes of a profile work on this machine, and what to do about
// those that do not. It tries each on a small graph: nothing is concluded from versions alone.
#ifndef GRAPHTREE_TOOLS_VERBS_PROFILE_DOCTOR_H_
#define GRAPHTREE_TOOLS_VERBS_PROFILE_DOCTOR_H_

#include "tools/cli/verb.h"

namespace graphtree {

cli::Verb ProfileDoctorVerb();

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_PROFILE_DOCTOR_H_
