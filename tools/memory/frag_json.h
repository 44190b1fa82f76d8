// Fragments as JSON.
#ifndef GRAPHTREE_TOOLS_MEMORY_FRAG_JSON_H_
#define GRAPHTREE_TOOLS_MEMORY_FRAG_JSON_H_

#include <string>
#include <vector>

#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/analysis/fragmentation.h"
#include "tools/snapshot/analysis/layout.h"

namespace graphtree::memory {

// `answer` may be null.
std::string FragJson(const snapshot::Snapshot& snapshot,
                     const std::vector<snapshot::PlacedSegment>& layout,
                     const snapshot::Fragments& fragments, const snapshot::RequestAnswer* answer);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_FRAG_JSON_H_
