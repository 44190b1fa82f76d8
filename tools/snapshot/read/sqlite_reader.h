// Reads an SQLite file that WriteSqlite made (sqlite_schema.h).
//
// Every row becomes a dictionary for the RecordBuilder, so that a damaged or made-up file meets the
// same checks as a pickle. The database is opened for reading only, with its own functions and
// triggers distrusted, names that are no tables refused, and work limited by the file's size.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_SQLITE_READER_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_SQLITE_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/read/record_builder.h"

namespace graphtree::snapshot {

// The outermost value, as the other readers return it.
absl::StatusOr<Value> ReadSqlite(const std::string& path, RecordBuilder& builder,
                                 Snapshot& snapshot);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_SQLITE_READER_H_
