// Chooses the writer.
#include "allocator/snapshot/write.h"

#include <memory>

#include "absl/strings/match.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/json_format.h"
#include "allocator/snapshot/pickle_writer.h"
#include "allocator/snapshot/sqlite_writer.h"
#include "device/base/status_macros.h"

namespace graphtree::snapshot {

std::optional<FileKind> FileKindOf(absl::string_view path) {
  const auto ends = [&](absl::string_view ending) {
    return absl::EndsWithIgnoreCase(path, ending);
  };
  if (ends(".json")) return FileKind::kJson;
  if (ends(".sqlite") || ends(".sqlite3") || ends(".db")) return FileKind::kSqlite;
  if (ends(".pickle") || ends(".pkl") || ends(".p") || ends(".pt")) return FileKind::kPickle;
  return std::nullopt;
}

absl::Status WriteSnapshot(const Snapshot& snapshot, FileKind kind, int protocol,
                           const std::string& path) {
  if (kind == FileKind::kSqlite) return WriteSqlite(snapshot, path);
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSink> sink, ByteSink::Create(path));
  GRAPHTREE_RETURN_IF_ERROR(kind == FileKind::kPickle ? WritePickle(snapshot, protocol, *sink)
                                                      : WriteJson(snapshot, *sink));
  return sink->Commit();
}

}  // namespace graphtree::snapshot
