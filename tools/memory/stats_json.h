// The fixed fields of `graphtree memory stats --json`.
#ifndef GRAPHTREE_TOOLS_MEMORY_STATS_JSON_H_
#define GRAPHTREE_TOOLS_MEMORY_STATS_JSON_H_

#include <string>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/stats.h"

namespace graphtree::memory {

std::string StatsJson(const snapshot::Snapshot& snapshot, const snapshot::SideStats& gpu,
                      const snapshot::SideStats& host);

// Whether there is any host memory to speak of.
bool HasHost(const snapshot::SideStats& host);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_STATS_JSON_H_
