// One walk over the events; every event falls into the point that its position or time names.
#include "tools/snapshot/analysis/timeline.h"

#include <algorithm>

namespace graphtree::snapshot {

std::vector<TimelinePoint> Timeline(const Snapshot& snapshot, const DeviceHistory& history,
                                    Axis axis, size_t points) {
  std::vector<TimelinePoint> line;
  const uint32_t events = static_cast<uint32_t>(history.rows.size());
  if (events == 0 || points == 0) return line;
  const int64_t begin = history.Entry(snapshot, 0).time_us;
  const int64_t length = history.Entry(snapshot, events - 1).time_us - begin + 1;
  const auto bucket_of = [&](uint32_t event) -> size_t {
    if (axis == Axis::kEvents) return static_cast<size_t>(uint64_t{event} * points / events);
    const double part = static_cast<double>(history.Entry(snapshot, event).time_us - begin) /
                        static_cast<double>(length);
    return std::min(points - 1, static_cast<size_t>(part * static_cast<double>(points)));
  };
  int64_t allocated = static_cast<int64_t>(history.allocated_at_start);
  int64_t active = allocated;
  int64_t reserved = static_cast<int64_t>(history.reserved_at_start);
  size_t bucket = points;  // of the last point: none yet
  for (uint32_t event = 0; event < events; ++event) {
    const uint64_t before = static_cast<uint64_t>(std::max<int64_t>(allocated, 0));
    const Change change = ChangeOf(snapshot, history, event);
    allocated += change.allocated;
    active += change.active;
    reserved += change.reserved;
    const auto bytes = [](int64_t value) {
      return static_cast<uint64_t>(std::max<int64_t>(value, 0));
    };
    if (bucket_of(event) != bucket) {
      bucket = bucket_of(event);
      line.emplace_back();
      line.back().first_event = event;
      line.back().allocated_low = line.back().allocated_high = before;
    }
    TimelinePoint& point = line.back();
    point.last_event = event;
    point.time_us = history.Entry(snapshot, event).time_us;
    point.allocated = bytes(allocated);
    point.active = bytes(active);
    point.reserved = bytes(reserved);
    point.allocated_low = std::min(point.allocated_low, point.allocated);
    point.allocated_high = std::max(point.allocated_high, point.allocated);
    point.reserved_high = std::max(point.reserved_high, point.reserved);
  }
  return line;
}

}  // namespace graphtree::snapshot
