// Writes a snapshot as a pickle of protocol 2 to 5 that Python, PyTorch's own tools and its web
// viewer open.
//
// Strings, frames and stacks are written once and referred to through the memo afterwards. Lists
// are written in pieces of 1000 items, as Python does: the web viewer passes a piece as arguments
// of one call. Protocol 4 opens everywhere.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_PICKLE_WRITER_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_PICKLE_WRITER_H_

#include "absl/status/status.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

// Does not commit the sink.
absl::Status WritePickle(const Snapshot& snapshot, int protocol, ByteSink& sink);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_PICKLE_WRITER_H_
