// WriteSnapshot: puts a snapshot into a file of any known kind.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_WRITE_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_WRITE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"

namespace graphtree::snapshot {

enum class FileKind { kPickle, kJson, kSqlite };

// By the path's ending: .pickle .pkl .p .pt, .json, .sqlite .sqlite3 .db.
std::optional<FileKind> FileKindOf(absl::string_view path);

// "-" is the standard output (not for SQLite). The protocol counts for pickles only.
absl::Status WriteSnapshot(const Snapshot& snapshot, FileKind kind, int protocol,
                           const std::string& path);

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_WRITE_H_
