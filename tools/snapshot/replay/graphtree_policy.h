// Our own pool: its Placement decides where blocks lie, in one range for all streams and pools, and
// its rule for pieces says how much memory comes from the driver.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_GRAPHTREE_POLICY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_GRAPHTREE_POLICY_H_

#include <memory>

#include "tools/snapshot/replay/policy.h"

namespace graphtree::snapshot {

std::unique_ptr<Policy> MakeGraphtreePolicy(uint64_t limit);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_GRAPHTREE_POLICY_H_
