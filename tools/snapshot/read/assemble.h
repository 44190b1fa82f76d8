// Assemble: puts the rows of a file that has been read into their order.
//
// While a file is read, blocks and entries become rows in the order of their appearance, and the
// lists that hold them are values. Here the outermost dictionary is walked once: every list of
// segments, blocks and entries becomes a range of rows. Writers emit rows in that order anyway, so
// nothing moves; where they do not, the rows are copied into order.
//
// A row may stand in one place only. Without that rule a small file could name one long list a
// million times and make every later walk endless.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_ASSEMBLE_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_ASSEMBLE_H_

#include "absl/status/status.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/read/record_builder.h"

namespace graphtree::snapshot {

// `root` is the outermost value of the file, which `builder` has been filling into `snapshot`.
absl::Status Assemble(Value root, RecordBuilder& builder, Snapshot& snapshot);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_ASSEMBLE_H_
