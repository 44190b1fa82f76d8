// Replaying a recorded history.
#include "tools/snapshot/replay/trace_replay.h"

#include <algorithm>
#include <unordered_map>

#include "allocator/placement/run.h"
#include "allocator/snapshot/words.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

namespace words = snapshot::words;

// What the other allocator did with its segments, as far as the history tells.
void FollowSegments(const snapshot::TraceEntry& entry, uint64_t* reserved) {
  if (entry.action == words::kSegmentAlloc || entry.action == words::kSegmentMap) {
    *reserved += entry.size;
  }
  if (entry.action == words::kSegmentFree || entry.action == words::kSegmentUnmap) {
    *reserved -= std::min(entry.size, *reserved);
  }
}

}  // namespace

absl::StatusOr<ReplayedTrace> ReplayTrace(const snapshot::Snapshot& snapshot,
                                          const snapshot::Trace& trace, Pool& pool,
                                          Stream& stream) {
  ReplayedTrace result;
  uint64_t reserved = 0, highest = 0;
  std::unordered_map<uint64_t, BlockId> live;
  for (const snapshot::TraceEntry& entry : snapshot.EntriesOf(trace)) {
    FollowSegments(entry, &reserved);
    if (entry.action == words::kAlloc) {
      GRAPHTREE_ASSIGN_OR_RETURN(const Block block, pool.Allocate(entry.size, stream));
      live[entry.addr] = block.id;
      ++result.allocations;
    } else if (entry.action == words::kFreeCompleted) {
      const auto found = live.find(entry.addr);
      if (found == live.end()) continue;
      GRAPHTREE_RETURN_IF_ERROR(pool.Free(found->second));
      live.erase(found);
    }
    const PoolStats stats = pool.Stats();
    const Placement& placement = pool.ledger().placement(Region::kStep);
    highest = std::max(highest, uint64_t{placement.end()} * kQuantum);
    if (stats.live_bytes <= result.peak_live) continue;
    result.peak_live = stats.live_bytes;
    result.their_reserved = reserved;
    result.our_mapped = stats.mapped_bytes;
    result.our_offsets = highest;
  }
  return result;
}

}  // namespace graphtree
