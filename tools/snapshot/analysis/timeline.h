// Timeline: bytes over the history, in as many points as a screen has columns, extremes kept.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TIMELINE_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::snapshot {

// Neighbouring events in one.
struct TimelinePoint {
  uint32_t first_event = 0;
  uint32_t last_event = 0;
  int64_t time_us = 0;      // of the last event
  uint64_t allocated = 0;   // requested bytes, after the last event
  uint64_t active = 0;
  uint64_t reserved = 0;
  uint64_t allocated_low = 0;   // within the point
  uint64_t allocated_high = 0;
  uint64_t reserved_high = 0;
};

// By position in the history, or by time; at most `points`.
enum class Axis { kEvents, kTime };
std::vector<TimelinePoint> Timeline(const Snapshot& snapshot, const DeviceHistory& history,
                                    Axis axis, size_t points);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TIMELINE_H_
