// What the page's "About" tab says of a file: totals, and the settings of the allocator.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_FACTS_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_FACTS_H_

#include "allocator/snapshot/snapshot.h"
#include "device/base/json_writer.h"

namespace graphtree::memory {

// The keys "facts" and "settings": lists of [name, text].
void WriteHtmlFacts(const snapshot::Snapshot& snapshot, JsonWriter& json);

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_FACTS_H_
