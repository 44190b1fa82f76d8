// TensorFlow's and XLA's best fit with coalescing: one set of free blocks for all streams, regions
// that double in size, a block is split when it is twice the request or 128 MiB are left over.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_BFC_POLICY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_BFC_POLICY_H_

#include <memory>

#include "tools/snapshot/replay/policy.h"

namespace graphtree::snapshot {

std::unique_ptr<Policy> MakeBfcPolicy(uint64_t limit);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_BFC_POLICY_H_
