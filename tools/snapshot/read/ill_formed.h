// IllFormedTexts: the texts of a snapshot that are not UTF-8, which JSON cannot tell.
//
// A pickle may hold any bytes as a text, though Python reads none such. A pickle that we write has
// the same bytes again; JSON, and the page, which is made of it, have U+FFFD in their place. Who
// reads a snapshot to show it says so once. Half a surrogate pair, which Python writes for a byte
// of a file's name that it could not decode, has an escape in JSON and does not count.
//
//   two texts, the first at device_traces[0][17].frames[2].filename
//
// Thread-safe. Costs one look at every distinct text, and a walk through the rows only where one of
// them is ill-formed.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_ILL_FORMED_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_ILL_FORMED_H_

#include <cstddef>
#include <string>

#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

struct IllFormedTexts {
  size_t count = 0;   // of distinct ones
  std::string first;  // where the first of them stands; empty where there is none
};

// Raw bytes are no texts.
IllFormedTexts FindIllFormedTexts(const Snapshot& snapshot);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_ILL_FORMED_H_
