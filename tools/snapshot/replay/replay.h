// Replay: a recorded history run through an allocation policy.
//
// Allocations that were there before the first entry are made first, in the order of their
// addresses. Memory becomes free again where the recording says that its free was completed. Where
// the recording gave segments back to the driver, the policy is asked to trim.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_REPLAY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_REPLAY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/history.h"
#include "tools/snapshot/replay/policy.h"

namespace graphtree::snapshot {

struct ReplayResult {
  std::string policy;
  uint64_t peak_requested = 0;  // of what could be allocated
  uint64_t peak_reserved = 0;
  uint64_t reserved_at_end = 0;
  uint64_t held_at_end = 0;     // rounding included
  uint64_t largest_hole_at_end = 0;
  uint64_t driver_calls = 0;
  uint64_t failed = 0;          // allocations that did not fit under the limit
  uint32_t first_failure = kNever;  // their event
  // The request that failed in the recording, where one did.
  std::optional<bool> fits_failed_request;

  // 1 - requested / reserved, at their peaks.
  double fragmentation() const;
};

struct ReplayOptions {
  uint32_t until = kNever;  // stop after this event; kNever: at the end
};

ReplayResult Replay(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
                    Policy& policy, const ReplayOptions& options = {});

// What really happened, in the same terms.
ReplayResult AsRecorded(const Snapshot& snapshot, const Side& side, const DeviceHistory& history);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_REPLAY_H_
