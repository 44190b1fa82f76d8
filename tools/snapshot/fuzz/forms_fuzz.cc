// What a fuzzer calls with any bytes: the forms that read_fuzz does not reach, JSON and SQLite.
//
//   "SQLite..."   a file as it is: damaged pages, tables that are not ours
//   "Q" edits     an SQLite file that we wrote, with values of its rows replaced:
//                 [table][column][row][kind][length][text] ...
//   else          a pickle or JSON
//
// Whatever could be read is written as JSON and as SQLite, and read again with the same rows.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/json_format.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/sqlite_handle.h"
#include "allocator/snapshot/sqlite_writer.h"
#include "device/base/check.h"
#include "sqlite3.h"
#include "tools/snapshot/fuzz/fuzz_checks.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {
namespace {

// Every stack stands in JSON wherever it is used, so that a small file may make a very large text.
constexpr uint64_t kMostStackBytes = 1 << 20;

// A file that goes with its last use; in memory, where there is such a folder.
class ScratchFile {
 public:
  ScratchFile()
      : path_(absl::StrCat(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                           "/graphtree_forms_fuzz_", getpid(), ".sqlite")) {}
  explicit ScratchFile(absl::string_view bytes) : ScratchFile() {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~ScratchFile() { unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

absl::StatusOr<std::unique_ptr<Snapshot>> ReadAsFile(absl::string_view bytes) {
  const ScratchFile file(bytes);
  return ReadSnapshot(file.path());
}

// One of everything that has a table or a column.
constexpr absl::string_view kExample = R"({
  "segments": [{"device": 0, "address": 4096, "total_size": 2048, "allocated_size": 512,
    "active_size": 512, "requested_size": 500, "stream": 0, "segment_type": "small",
    "segment_pool_id": [1, 2], "is_expandable": true, "frames": [], "blocks": [
      {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated",
       "frames": [{"name": "f", "filename": "a.py", "line": 7}], "node": 3},
      {"address": 4608, "size": 1536, "requested_size": 0, "state": "inactive", "frames": []}]}],
  "device_traces": [[{"action": "alloc", "addr": 4096, "size": 500, "stream": 0, "time_us": 1,
    "compile_context": "N/A", "user_metadata": "tag", "internal_metadata": "", "pool_id": [1, 2],
    "frames": [{"name": "f", "filename": "a.py", "line": 7, "fx": "x"}], "more": [1, {"a": null}]},
    {"action": "oom", "device_free": 9, "size": 1, "stream": 0, "time_us": 2, "frames": []}]],
  "host_segments": [{"device": -1, "address": 0, "total_size": 512, "blocks": [
      {"address": 0, "size": 512, "requested_size": 1, "state": "active_allocated",
       "frames": []}]}],
  "host_traces": [{"action": "alloc", "addr": 0, "size": 1, "stream": 0, "time_us": 1,
                   "frames": []}],
  "allocator_settings": {"max_split_size": -1}, "external_annotations": []})";

struct Table {
  absl::string_view name;
  absl::string_view key;  // of a row, counted from 0
  std::vector<absl::string_view> columns;
};

const std::array<Table, 9>& Tables() {
  static const auto* const tables = new std::array<Table, 9>{{
      {"about", "rowid - 1", {"version", "segments_only", "pickle_protocol"}},
      {"root", "position", {"position", "key", "value"}},
      {"shapes", "id", {"id", "keys"}},
      {"frames", "id", {"id", "name", "filename", "line", "shape_id", "extras"}},
      {"stacks", "stack_id", {"stack_id", "depth", "frame_id"}},
      {"segments", "id", {"id", "side", "device", "address", "total_size", "stream",
                          "segment_type", "pool_0", "is_expandable", "stack_id", "shape_id",
                          "extras"}},
      {"blocks", "id", {"id", "segment_id", "address", "size", "requested_size", "state",
                        "stack_id", "shape_id", "extras"}},
      {"traces", "id", {"id", "side", "device"}},
      {"trace_entries", "id", {"id", "trace_id", "action", "addr", "size", "stream", "time_us",
                               "user_metadata", "pool_0", "pool_1", "stack_id", "shape_id",
                               "extras"}},
  }};
  return *tables;
}

class Edits {
 public:
  explicit Edits(absl::string_view bytes) : bytes_(bytes) {}

  void ApplyTo(sqlite3* database) {
    while (bytes_.size() >= 5) ApplyOne(database);
  }

 private:
  uint8_t Next() {
    const uint8_t byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

  // What the schema forbids is not done.
  void ApplyOne(sqlite3* database) {
    const Table& table = Tables()[Next() % Tables().size()];
    const absl::string_view column = table.columns[Next() % table.columns.size()];
    const int64_t row = Next() % 8;
    const uint8_t kind = Next() % 6;
    const size_t length = Next();
    const absl::string_view text = bytes_.substr(0, length);
    bytes_.remove_prefix(text.size());
    auto statement = SqliteStatement::Prepare(
        database, kind == 0 ? absl::StrCat("DELETE FROM ", table.name, " WHERE ?1 IS NOT 0 AND ",
                                           table.key, " = ?2")
                            : absl::StrCat("UPDATE OR IGNORE ", table.name, " SET ", column,
                                           " = ?1 WHERE ", table.key, " = ?2"));
    GRAPHTREE_CHECK(statement.ok()) << statement.status().ToString();
    int64_t number = 0;
    for (const char c : text) number = (number << 8) + static_cast<int8_t>(c);
    switch (kind) {
      case 1: statement->BindNull(); break;
      case 2: statement->BindBlob(text); break;
      case 3: statement->Bind(number); break;
      default: statement->Bind(text);
    }
    statement->Bind(row);
    statement->Run();
  }

  absl::string_view bytes_;
};

std::string Example() {
  const auto snapshot = ParseSnapshot(kExample);
  GRAPHTREE_CHECK(snapshot.ok()) << snapshot.status().ToString();
  const ScratchFile file;
  const absl::Status written = WriteSqlite(**snapshot, file.path());
  GRAPHTREE_CHECK(written.ok()) << written.ToString();
  std::stringstream bytes;
  bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
  return bytes.str();
}

absl::StatusOr<std::unique_ptr<Snapshot>> ReadEdited(absl::string_view edits) {
  static const std::string* const example = new std::string(Example());
  const ScratchFile file(*example);
  {
    sqlite3* opened = nullptr;
    GRAPHTREE_CHECK(sqlite3_open(file.path().c_str(), &opened) == SQLITE_OK) << file.path();
    const SqliteDatabase database(opened);
    sqlite3_exec(opened, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", nullptr,
                 nullptr, nullptr);
    Edits(edits).ApplyTo(opened);
    GRAPHTREE_CHECK(sqlite3_exec(opened, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  return ReadSnapshot(file.path());
}

absl::StatusOr<std::unique_ptr<Snapshot>> Read(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "SQLite")) return ReadAsFile(bytes);
  if (absl::StartsWith(bytes, "Q")) return ReadEdited(bytes.substr(1));
  return ParseSnapshot(bytes);
}

// Unknown parts may hold what a form has no way to say.
void CheckAsJson(const Snapshot& snapshot) {
  std::string text;
  const std::unique_ptr<ByteSink> sink = ByteSink::To(&text);
  if (!WriteJson(snapshot, *sink).ok() || !sink->Commit().ok()) return;
  const auto again = ParseSnapshot(text);
  GRAPHTREE_CHECK(again.ok()) << again.status().ToString();
  CheckSameRows(snapshot, **again);
}

void CheckAsSqlite(const Snapshot& snapshot) {
  const ScratchFile file;
  if (!WriteSqlite(snapshot, file.path()).ok()) return;
  const auto again = ReadSnapshot(file.path());
  GRAPHTREE_CHECK(again.ok()) << again.status().ToString();
  CheckSameRows(snapshot, **again);
}

}  // namespace
}  // namespace graphtree::snapshot

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphtree::snapshot;  // NOLINT(google-build-using-namespace)
  const auto read = Read({reinterpret_cast<const char*>(data), size});
  if (!read.ok() || JsonStackBytes(**read) > kMostStackBytes) return 0;
  CheckAsJson(**read);
  CheckAsSqlite(**read);
  return 0;
}
