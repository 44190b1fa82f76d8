// Writes a snapshot as an SQLite file; the tables are described in sqlite_schema.h.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_WRITER_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

// Written beside its place and renamed; an existing file is replaced.
absl::Status WriteSqlite(const Snapshot& snapshot, const std::string& path);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_WRITER_H_
