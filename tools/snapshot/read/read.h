// ReadSnapshot: opens a file of any known kind and returns its snapshot.
//
//   status = ReadSnapshot("oom.pickle")       pickle (protocols 2 to 5), JSON or SQLite, told apart
//                                             by their first bytes; "-" is the standard input
//
// Errors say what is wrong with the file and at which byte: NotFound and Unavailable where it could
// not be read, PermissionDenied where it wants to import or call something, ResourceExhausted where
// it is made to exhaust memory, InvalidArgument for everything else.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_READ_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_READ_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/read/byte_source.h"

namespace graphtree::snapshot {

absl::StatusOr<std::unique_ptr<Snapshot>> ReadSnapshot(const std::string& path,
                                                       ByteSource::Progress progress = nullptr);

// The same from a pickle or JSON in memory.
absl::StatusOr<std::unique_ptr<Snapshot>> ParseSnapshot(absl::string_view bytes);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_READ_H_
