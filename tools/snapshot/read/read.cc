// Tells the kinds of file apart by their first bytes.
#include "tools/snapshot/read/read.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "device/base/status_macros.h"
#include "tools/snapshot/read/assemble.h"
#include "tools/snapshot/read/json_reader.h"
#include "tools/snapshot/read/pickle_machine.h"
#include "tools/snapshot/read/record_builder.h"
#include "tools/snapshot/read/sqlite_reader.h"

namespace graphtree::snapshot {
namespace {

constexpr size_t kMagicBytes = 16;
constexpr size_t kHeadBytes = 1 << 16;  // as far as one looks to say what a file is
constexpr absl::string_view kSqliteMagic = "SQLite format 3";

// What a pickle of protocol 0 or 1 wants to import: a line "cMODULE" and one "NAME". A text cannot
// look like that, since protocol 0 writes line ends in texts as escapes.
std::string OldImport(absl::string_view text) {
  const auto is_name = [](absl::string_view name) {
    return !name.empty() && absl::c_all_of(name, [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    });
  };
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i + 2 < lines.size(); ++i) {
    absl::string_view line = lines[i];
    while (absl::StartsWith(line, "(")) line.remove_prefix(1);
    if (absl::StartsWith(line, "c") && is_name(line.substr(1)) && is_name(lines[i + 1])) {
      return absl::StrCat(line.substr(1), ".", lines[i + 1]);
    }
  }
  return "";
}

absl::Status Unknown(absl::string_view head) {
  const auto error = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  if (head.empty()) return error("the file is empty");
  if (absl::StartsWith(head, "\x1f\x8b")) {
    return error("the file is compressed with gzip: unpack it first (gunzip)");
  }
  if (absl::StartsWith(head, "\x28\xb5\x2f\xfd")) {
    return error("the file is compressed with zstd: unpack it first (unzstd)");
  }
  if (absl::StartsWith(head, "PK")) {
    return error("this is a zip file, as torch.save writes them, not a snapshot: a snapshot is "
                 "written by torch.cuda.memory._dump_snapshot");
  }
  const std::string import = OldImport(head);
  if (!import.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the pickle (of protocol 0 or 1) wants to import ", import,
                     ". A snapshot holds data only; nothing was imported or run"));
  }
  if (absl::StartsWith(head, "(") || absl::StartsWith(head, "]q") ||
      absl::StartsWith(head, "}q")) {
    return error("this looks like a pickle of protocol 0 or 1, which no snapshot writer uses: "
                 "write it again with pickle.dump(snapshot, file, protocol=4)");
  }
  return error("this is no allocator snapshot: it is neither a pickle of protocol 2 to 5, nor "
               "JSON, nor an SQLite file");
}

// The path is empty where the bytes are in memory.
absl::StatusOr<std::unique_ptr<Snapshot>> ReadFrom(ByteSource& source, const std::string& path) {
  const char* p = source.begin();
  GRAPHTREE_RETURN_IF_ERROR(source.Fill(p, kMagicBytes));
  const absl::string_view head(p, std::min<size_t>(source.end() - p, kHeadBytes));
  const size_t text = head.find_first_not_of(" \t\r\n");
  auto snapshot = std::make_unique<Snapshot>();
  RecordBuilder builder(*snapshot);
  Value root;
  if (absl::StartsWith(head, "\x80")) {
    GRAPHTREE_ASSIGN_OR_RETURN(root, PickleMachine(source, p, builder, *snapshot).Run());
  } else if (text != absl::string_view::npos &&
             (head[text] == '{' || head[text] == '[')) {
    GRAPHTREE_ASSIGN_OR_RETURN(root, JsonReader(source, p, builder, *snapshot).Run());
  } else if (absl::StartsWith(head, kSqliteMagic)) {
    if (path.empty() || path == "-") {
      return absl::InvalidArgumentError(
          "an SQLite file can only be read by its path, not through the standard input");
    }
    GRAPHTREE_ASSIGN_OR_RETURN(root, ReadSqlite(path, builder, *snapshot));
  } else {
    return Unknown(head);
  }
  GRAPHTREE_RETURN_IF_ERROR(Assemble(root, builder, *snapshot));
  return snapshot;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Snapshot>> ReadSnapshot(const std::string& path,
                                                       ByteSource::Progress progress) {
  GRAPHTREE_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  source.set_progress(std::move(progress));
  return ReadFrom(source, path);
}

absl::StatusOr<std::unique_ptr<Snapshot>> ParseSnapshot(absl::string_view bytes) {
  ByteSource source = ByteSource::Of(bytes);
  return ReadFrom(source, "");
}

}  // namespace graphtree::snapshot
