// One pass over the segments, one over the history.
#include "tools/snapshot/analysis/stats.h"

#include <algorithm>

namespace graphtree::snapshot {

void Totals::Add(const Snapshot& snapshot, const Segment& segment) {
  uint64_t free_bytes = 0;
  bool live = false;
  for (const Block& block : snapshot.BlocksOf(segment)) {
    ++blocks;
    if (block.allocated()) {
      allocated += block.size;
      requested += block.requested_size;
    }
    if (block.allocated() || block.pending()) {
      active += block.size;
      live = true;
    } else {
      free_bytes += block.size;
      largest_free = std::max(largest_free, block.size);
      free_squares += static_cast<double>(block.size) * static_cast<double>(block.size);
    }
  }
  ++segments;
  reserved += segment.total_size;
  if (!live) releasable += free_bytes;
}

Fragmentation FragmentationOf(const Totals& totals) {
  const auto part = [](double some, double all) { return all == 0 ? 0 : some / all; };
  const double free = totals.reserved < totals.active ? 0 : static_cast<double>(totals.free());
  Fragmentation result;
  if (free != 0) {
    result.largest_hole = 1 - part(static_cast<double>(totals.largest_free), free);
    result.squares = 1 - part(totals.free_squares, free * free);
    result.stranded = part(free - static_cast<double>(totals.releasable),
                           static_cast<double>(totals.reserved));
  }
  result.rounding = part(static_cast<double>(totals.allocated) -
                             static_cast<double>(totals.requested),
                         static_cast<double>(totals.allocated));
  return result;
}

SideStats StatsOf(const Snapshot& snapshot, const Side& side) {
  SideStats stats;
  std::map<StringId, uint64_t> states;
  for (const Segment& segment : side.segments) {
    stats.all.Add(snapshot, segment);
    stats.devices[segment.device].Add(snapshot, segment);
    stats.pools[{segment.device, snapshot.Pool(segment.pool)}].Add(snapshot, segment);
    stats.streams[{segment.device, IntegerText(snapshot.values, segment.stream)}].Add(snapshot,
                                                                                      segment);
    stats.segment_types[std::string(snapshot.Text(segment.type))].Add(snapshot, segment);
    for (const Block& block : snapshot.BlocksOf(segment)) ++states[block.state];
  }
  for (const auto& [state, count] : states) stats.states[std::string(snapshot.Text(state))] = count;
  std::map<StringId, uint64_t> actions;
  for (const Trace& trace : side.traces) {
    stats.trace_entries += trace.entry_count;
    for (const TraceEntry& entry : snapshot.EntriesOf(trace)) ++actions[entry.action];
  }
  for (const auto& [action, count] : actions) {
    stats.actions[std::string(snapshot.Text(action))] = count;
  }
  stats.histories = BuildHistories(snapshot, side);
  return stats;
}

}  // namespace graphtree::snapshot
