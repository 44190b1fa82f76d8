// The list of verbs.
#include "tools/all_verbs.h"

#include "tools/memory/verbs.h"
#include "tools/profile/verbs.h"
#include "tools/verbs/demo.h"
#include "tools/verbs/devices.h"
#include "tools/verbs/profile_doctor.h"
#include "tools/verbs/shell.h"
#include "tools/verbs/version.h"
#include "tools/watch/verbs.h"

namespace graphtree {

cli::Registry AllVerbs() {
  cli::Registry registry;
  registry.Add(DemoVerb());
  registry.Add(DevicesVerb());
  registry.Add(VersionVerb());
  registry.Add(memory::MemoryVerbs());
  registry.Add(profile::ProfileVerbs());
  registry.Add(ProfileDoctorVerb());
  registry.Add(watch::WatchVerbs());
  registry.Add(CompletionVerb([] { return AllVerbs().verbs(); }));
  registry.Add(ManVerb([] { return AllVerbs().verbs(); }));
  return registry;
}

}  // namespace graphtree
