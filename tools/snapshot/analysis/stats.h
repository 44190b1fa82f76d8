// Stats: the totals of a snapshot, as a whole and by device, pool, stream and kind of segment.
//
// Bytes are counted from the blocks: reserved is what the allocator took from the driver, allocated
// what users hold (rounded up), requested what they asked for, active what they hold and what other
// streams may still be using. Host memory is counted apart and is in no other figure.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_STATS_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_STATS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::snapshot {

struct Totals {
  uint64_t segments = 0;
  uint64_t blocks = 0;
  uint64_t reserved = 0;
  uint64_t allocated = 0;
  uint64_t active = 0;
  uint64_t requested = 0;
  uint64_t largest_free = 0;    // one block
  uint64_t releasable = 0;      // bytes of segments without a live block
  double free_squares = 0;      // sum of size^2 of free blocks

  uint64_t free() const { return reserved - active; }
  void Add(const Snapshot& snapshot, const Segment& segment);
};

// Four figures for how scattered free memory is, each from 0 (not at all) to 1.
struct Fragmentation {
  double largest_hole = 0;  // 1 - largest free block / free bytes
  double squares = 0;       // 1 - sum(free block^2) / free bytes^2
  double rounding = 0;      // (allocated - requested) / allocated
  double stranded = 0;      // free bytes in segments that hold a live block / reserved bytes
};
Fragmentation FragmentationOf(const Totals& totals);

struct SideStats {
  Totals all;
  uint64_t trace_entries = 0;
  std::map<std::string, uint64_t> states;
  std::map<std::string, uint64_t> actions;
  std::map<int64_t, Totals> devices;
  std::map<std::pair<int64_t, std::pair<uint64_t, uint64_t>>, Totals> pools;  // device, pool
  std::map<std::pair<int64_t, std::string>, Totals> streams;                  // device, stream
  std::map<std::string, Totals> segment_types;
  std::vector<DeviceHistory> histories;
};

SideStats StatsOf(const Snapshot& snapshot, const Side& side);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_STATS_H_
