// Replays the allocations and frees that a snapshot's history holds through a pool of ours, and
// compares what both allocators had to reserve.
//
//   fragmentation = 1 - live / reserved, at the moment at which most bytes were live
//
// Blocks count as rounded up to 512 bytes on both sides. Only what the history shows is replayed: a
// free whose allocation it does not know is left out, and so are private pools' borders, which are
// not ours.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_TRACE_REPLAY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_TRACE_REPLAY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "allocator/pool.h"
#include "allocator/snapshot/snapshot.h"
#include "device/stream.h"

namespace graphtree {

struct ReplayedTrace {
  double theirs() const { return Fragmentation(their_reserved); }
  double ours() const { return Fragmentation(our_mapped); }
  // Ours by the offsets that placement used, without rounding up to pieces of memory.
  double ours_by_offset() const { return Fragmentation(our_offsets); }
  double Fragmentation(uint64_t reserved) const {
    return reserved == 0 ? 0 : 1 - static_cast<double>(peak_live) / static_cast<double>(reserved);
  }

  uint64_t allocations = 0;
  uint64_t peak_live = 0;       // bytes, in 512-byte quanta
  uint64_t their_reserved = 0;  // at that moment, by their segments
  uint64_t our_mapped = 0;      // at that moment
  uint64_t our_offsets = 0;     // the highest end of a block so far
};

// `trace` is one of the GPU's in `snapshot`. The pool must be fresh.
absl::StatusOr<ReplayedTrace> ReplayTrace(const snapshot::Snapshot& snapshot,
                                          const snapshot::Trace& trace, Pool& pool, Stream& stream);

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_TRACE_REPLAY_H_
