// Our own pool: its Placement decides where blocks lie, in one range for all streams and pools, and
// its rule for pieces says how much memory comes from the driver.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_REPLAY_GRAPHTREE_POLICY_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_REPLAY_GRAPHTREE_POLICY_H_

#include <memory>

#include "allocator/snapshot/replay/policy.h"

namespace graphtree::snapshot {

std::unique_ptr<Policy> MakeGraphtreePolicy(uint64_t limit);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_REPLAY_GRAPHTREE_POLICY_H_
