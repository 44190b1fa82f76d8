// PyTorch's caching allocator: best fit in segments of 2 MiB, 20 MiB or a multiple of 2 MiB, a set
// of free blocks for each stream, pool and kind of segment, neighbours merged when freed.
//
// On the snapshots that PyTorch recorded itself it takes from the driver what PyTorch took, to the
// byte; replay_test.cc holds it to that.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_CACHING_POLICY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_CACHING_POLICY_H_

#include <memory>

#include "tools/snapshot/replay/policy.h"

namespace graphtree::snapshot {

struct CachingOptions {
  uint64_t max_split_size = 0;  // blocks from this size on are not split; 0: all are
};

std::unique_ptr<Policy> MakeCachingPolicy(uint64_t limit, const CachingOptions& options = {});

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_CACHING_POLICY_H_
