// Oom: a failed allocation, explained from the history.
//
// The explanation is a list of facts in the order in which a person asks: what was wanted, what the
// driver had, what the allocator had free and why none of it would do, who held the rest. Then the
// settings, each tried by replaying the same history under the same limit (replay/replay.h).
//
// Where the device was full, the limit is what was reserved and what it had free. Where it was not,
// a limit was set in the process, and the file does not say which: it lies between what was
// reserved and that plus the segment that was refused. An experiment that needs no more than the
// first is sure to fit, one that needs the second is sure not to.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_OOM_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_OOM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/fragmentation.h"
#include "tools/snapshot/analysis/history.h"
#include "tools/snapshot/analysis/layout.h"
#include "tools/snapshot/analysis/settings.h"

namespace graphtree::snapshot {

// Why it failed, the first that holds.
enum class OomCause {
  kTooLarge,       // more than the limit with nothing else held
  kTooMuchHeld,    // what was alive and the request together exceed the limit
  kPending,        // enough was freed, but other streams were not done with it
  kOtherPools,     // enough is free, in private pools or for other streams
  kFragmented,     // enough is free, but not in one piece
};

struct Experiment {
  enum Verdict { kFits, kMayFit, kDoesNotFit };
  std::string setting;  // "expandable_segments:True"; empty for our own pool
  std::string name;
  Verdict verdict = kDoesNotFit;
  uint64_t reserved = 0;  // needed when the request is placed, without a limit
};

struct OomCase {
  uint32_t event = 0;
  uint64_t asked = 0;
  uint64_t device_free = 0;  // as the driver said
  RequestAnswer answer;
  uint64_t requested = 0;  // alive then, as requested
  uint64_t held = 0;       // alive then, with rounding
  uint64_t pending = 0;
  uint64_t reserved = 0;
  uint64_t free_in_default_pool = 0;
  uint64_t free_elsewhere = 0;   // in private pools
  bool limited = false;  // the driver had enough: a limit was set in the process
  uint64_t limit_at_least = 0;  // this much could be reserved
  uint64_t limit_above = 0;     // this much could not
  OomCause cause = OomCause::kFragmented;
  Settings settings;
  std::vector<Experiment> experiments;  // none where no placement can help
};

// The out-of-memory events of a history, in order.
std::vector<uint32_t> OomEvents(const Snapshot& snapshot, const DeviceHistory& history);

OomCase ExplainOom(const Snapshot& snapshot, const Side& side, const DeviceHistory& history,
                   uint32_t event);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_OOM_H_
