// PyTorch with expandable_segments:True: one range of addresses for each stream, pool and kind,
// whose end grows by pages of 2 MiB (small) or 20 MiB (large), and whose free pages can be
// unmapped.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_EXPANDABLE_POLICY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_EXPANDABLE_POLICY_H_

#include <memory>

#include "tools/snapshot/replay/policy.h"

namespace graphtree::snapshot {

std::unique_ptr<Policy> MakeExpandablePolicy(uint64_t limit);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_EXPANDABLE_POLICY_H_
