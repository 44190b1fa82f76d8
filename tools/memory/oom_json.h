// Explained failures as JSON.
#ifndef GRAPHTREE_TOOLS_MEMORY_OOM_JSON_H_
#define GRAPHTREE_TOOLS_MEMORY_OOM_JSON_H_

#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/history.h"
#include "tools/snapshot/replay/oom.h"

namespace graphtree::memory {

struct OomAt {
  const snapshot::DeviceHistory* history;
  snapshot::OomCase oom;
};

std::string OomJson(const snapshot::Snapshot& snapshot, const std::vector<OomAt>& cases);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_OOM_JSON_H_
