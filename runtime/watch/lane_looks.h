// What looks into a lane's tree have found: each is kept until the next, for a body that may not
// wait for the lane (watch.h).
//
// Threads: any. A look is made outside of the lock.
#ifndef GRAPHTREE_RUNTIME_WATCH_LANE_LOOKS_H_
#define GRAPHTREE_RUNTIME_WATCH_LANE_LOOKS_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "allocator/pool_types.h"
#include "graphs/reports/call_counts.h"
#include "graphs/tree_stats.h"
#include "runtime/plan/ledger.h"

namespace graphtree {

template <typename Found>
class LastLook {
 public:
  // What `look` finds now, or, where this thread may not wait for the lane, what was found last:
  // nothing before the first look.
  template <typename Look>
  Found Get(bool may_wait, const Look& look) {
    if (!may_wait) {
      const std::lock_guard<std::mutex> lock(mutex_);
      return last_;
    }
    Found found = look();
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = found;
    return found;
  }

 private:
  std::mutex mutex_;
  Found last_ = {};  // guarded by mutex_
};

struct LaneFigures {
  TreeStats tree = {};
  PoolStats pool = {};
};

struct LaneMemory {
  uint64_t mapped_bytes = 0;
  uint64_t parked_bytes = 0;
  uint64_t lasting_bytes = 0;
  // Their programs by the numbers that the watch has.
  std::vector<LedgerInput::Recording> recordings = {};
};

struct LaneCallers {
  std::vector<FunctionStats> functions = {};
  std::vector<EdgeStats> edges = {};
};

struct LaneLooks {
  LastLook<LaneFigures> figures;
  LastLook<LaneMemory> memory;
  LastLook<LaneCallers> callers;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_WATCH_LANE_LOOKS_H_
