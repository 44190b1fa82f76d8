// Named ranges of time that a snapshot's program marked: the START and END pairs of
// external_annotations.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_RANGES_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_RANGES_H_

#include <cstdint>

#include "allocator/snapshot/snapshot.h"
#include "device/base/json_writer.h"

namespace graphtree::memory {

// The key "ranges": [name, from, to] in microseconds since `first_time`. Ranges of one name nest:
// an END closes the START before it. What has no other end is left out.
void WriteHtmlRanges(const snapshot::Snapshot& snapshot, int64_t device, int64_t first_time,
                     JsonWriter& json);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_RANGES_H_
