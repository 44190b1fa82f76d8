// One device of a snapshot as the page shows it: events, the lives of allocations, the ranges held
// from the driver, and what else happened.
//
//   events        0     1     2     3            one per trace entry, in time order
//   allocations   { start, requested, end, address, size, stack, pool, stream, ... }
//   pieces        { start, end, address, size, pool, stream, type, stack }
//
// An allocation whose address was taken by another one while it was still alive has lost its free:
// an event is put in before the one that took it, so that every event ends at most one allocation.
// Placeholders (allocations that the allocator made for itself) are left out.
//
// tools/memory/page/source/lane.js says what the columns mean to the page.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_LANE_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_LANE_H_

#include <cstdint>
#include <string>

#include "allocator/snapshot/snapshot.h"
#include "device/base/json_writer.h"
#include "tools/memory/html_columns.h"
#include "tools/memory/html_stacks.h"
#include "tools/memory/html_tables.h"
#include "tools/snapshot/analysis/history.h"

namespace graphtree::memory {

// What the lanes of a snapshot share.
struct HtmlShared {
  const snapshot::Snapshot& snapshot;
  HtmlTexts& texts;
  HtmlStacks& stacks;
  HtmlTables& tables;
  HtmlColumns& columns;
};

// Writes one object into the open array.
void WriteHtmlLane(const HtmlShared& shared, const snapshot::Side& side,
                   const snapshot::DeviceHistory& history, const std::string& name,
                   JsonWriter& json);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_LANE_H_
