// One transaction of INSERTs, one prepared statement per table.
#include "allocator/snapshot/sqlite_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/fields.h"
#include "allocator/snapshot/json_format.h"
#include "allocator/snapshot/json_marks.h"
#include "allocator/snapshot/part_file.h"
#include "allocator/snapshot/sqlite_handle.h"
#include "allocator/snapshot/sqlite_schema.h"
#include "device/base/json_writer.h"
#include "device/base/status_macros.h"

namespace graphtree::snapshot {
namespace {

class SqliteWriter {
 public:
  SqliteWriter(const Snapshot& snapshot, sqlite3* database)
      : snapshot_(snapshot), database_(database) {}

  absl::Status Run();

 private:
  absl::Status Execute(const char* sql);
  absl::Status Insert(absl::string_view table, int columns, SqliteStatement& statement);
  absl::Status WriteAbout();
  absl::Status WriteTables();
  absl::Status WriteSide(const Side& side, absl::string_view name);
  absl::Status WriteTraces(const Side& side, absl::string_view name);
  absl::Status Done(bool ran) {
    return ran ? absl::OkStatus() : SqliteError(database_, "writing a row");
  }

  // The column of a key, NULL where the row has no such key or it is in the extras.
  template <typename Row>
  void BindColumns(const Row& row, ShapeId shape, ExtrasId extras,
                   absl::Span<const StringId> keys, SqliteStatement& to);
  void BindField(const Field& field, SqliteStatement& to);
  template <typename Row>
  absl::Status BindExtras(const Row& row, ShapeId shape, ExtrasId extras, SqliteStatement& to);
  // A stream of 2^63 or more, which SQLite has no integer for, is put among the extras.
  Value StreamOf(const Segment& segment) { return segment.stream; }
  Value StreamOf(const TraceEntry& entry) { return snapshot_.details[entry.details].stream; }
  template <typename Row>
  Value StreamOf(const Row&) {
    return Value();
  }
  template <typename Row>
  bool StreamIsWide(const Row& row) {
    return StreamOf(row).is(Value::kWideUnsigned);
  }
  std::optional<Field> Column(const TraceEntry& entry, StringId key) {
    return ColumnOf(snapshot_, entry, key);
  }
  template <typename Row>
  std::optional<Field> Column(const Row& row, StringId key) {
    return ColumnOf(row, key);
  }

  const Snapshot& snapshot_;
  sqlite3* database_;
  std::string extras_text_;
  uint64_t segments_ = 0;
  uint64_t traces_ = 0;
};

absl::Status SqliteWriter::Execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) {
    return absl::OkStatus();
  }
  return SqliteError(database_, "writing the SQLite file");
}

absl::Status SqliteWriter::Insert(absl::string_view table, int columns,
                                  SqliteStatement& statement) {
  std::string sql = absl::StrCat("INSERT INTO ", table, " VALUES (?");
  for (int i = 1; i < columns; ++i) absl::StrAppend(&sql, ", ?");
  GRAPHTREE_ASSIGN_OR_RETURN(statement, SqliteStatement::Prepare(database_, sql + ")"));
  return absl::OkStatus();
}

void SqliteWriter::BindField(const Field& field, SqliteStatement& to) {
  switch (field.kind) {
    case Field::kUnsigned:
    case Field::kBool:
    case Field::kStack: return to.Bind(field.number);
    case Field::kSigned: return to.Bind(static_cast<int64_t>(field.number));
    case Field::kString: return to.Bind(snapshot_.Text(static_cast<StringId>(field.number)));
    case Field::kPool: {
      const auto [first, second] = snapshot_.Pool(static_cast<PoolId>(field.number));
      to.Bind(first);
      return to.Bind(second);
    }
    case Field::kValue: return to.Bind(snapshot_.values.AsInteger(field.value).value_or(0));
    case Field::kBlocks: break;
  }
  to.BindNull();
}

template <typename Row>
void SqliteWriter::BindColumns(const Row& row, ShapeId shape, ExtrasId extras,
                               absl::Span<const StringId> keys, SqliteStatement& to) {
  for (StringId key : keys) {
    bool there = snapshot_.HasKey(shape, key);
    // One column holds both.
    if (key == words::kAddr) there |= snapshot_.HasKey(shape, words::kDeviceFree);
    if (extras != 0 && snapshot_.extras.Get(extras, key).has_value()) there = false;
    if (key == words::kStream && StreamIsWide(row)) there = false;
    if (there) {
      BindField(*Column(row, key), to);
    } else {
      to.BindNull();
      if (key == words::kPoolId || key == words::kSegmentPoolId) to.BindNull();
    }
  }
}

template <typename Row>
absl::Status SqliteWriter::BindExtras(const Row& row, ShapeId shape, ExtrasId extras,
                                      SqliteStatement& to) {
  to.Bind(uint64_t{shape});
  if (extras == 0 && !StreamIsWide(row)) {
    to.BindNull();
    return absl::OkStatus();
  }
  JsonWriter json;
  json.BeginObject();
  for (const DictItem& item : snapshot_.extras[extras]) {
    GRAPHTREE_ASSIGN_OR_RETURN(const std::string value, JsonOf(snapshot_, item.value));
    const absl::string_view key = snapshot_.Text(item.key.id());
    json.Key(absl::StrCat(absl::StartsWith(key, kEscape) ? kEscape : "", key)).Raw(value);
  }
  if (StreamIsWide(row)) json.Key("stream").Unsigned(snapshot_.values.wide_bits(StreamOf(row)));
  extras_text_ = json.EndObject().text();
  to.Bind(extras_text_);
  return absl::OkStatus();
}

absl::Status SqliteWriter::WriteAbout() {
  SqliteStatement about, root, shapes;
  GRAPHTREE_RETURN_IF_ERROR(Insert("about", 3, about));
  about.Bind(int64_t{kSqliteVersion});
  about.Bind(int64_t{snapshot_.segments_only});
  about.Bind(int64_t{snapshot_.pickle_protocol});
  GRAPHTREE_RETURN_IF_ERROR(Done(about.Run()));
  GRAPHTREE_RETURN_IF_ERROR(Insert("root", 3, root));
  for (size_t i = 0; i < snapshot_.root.size(); ++i) {
    const DictItem& item = snapshot_.root[i];
    root.Bind(uint64_t{i});
    std::string key;
    if (item.key.is(Value::kString)) {
      root.Bind(snapshot_.Text(item.key.id()));
    } else {
      GRAPHTREE_ASSIGN_OR_RETURN(key, JsonOf(snapshot_, item.key));
      root.BindBlob(key);
    }
    GRAPHTREE_ASSIGN_OR_RETURN(const std::string value, JsonOf(snapshot_, item.value));
    root.Bind(value);
    GRAPHTREE_RETURN_IF_ERROR(Done(root.Run()));
  }
  GRAPHTREE_RETURN_IF_ERROR(Insert("shapes", 2, shapes));
  for (ShapeId id = 0; id < snapshot_.shapes.size(); ++id) {
    JsonWriter keys;
    keys.BeginArray();
    for (StringId key : snapshot_.shapes[id]) keys.String(snapshot_.Text(key));
    shapes.Bind(uint64_t{id});
    shapes.Bind(keys.EndArray().text());
    GRAPHTREE_RETURN_IF_ERROR(Done(shapes.Run()));
  }
  return absl::OkStatus();
}

absl::Status SqliteWriter::WriteTables() {
  SqliteStatement frames, stacks;
  GRAPHTREE_RETURN_IF_ERROR(Insert("frames", 6, frames));
  for (FrameId id = 0; id < snapshot_.frames.size(); ++id) {
    const Frame& frame = snapshot_.frames[id];
    frames.Bind(uint64_t{id});
    BindColumns(frame, frame.shape, 0, {words::kName, words::kFilename, words::kLine}, frames);
    GRAPHTREE_RETURN_IF_ERROR(BindExtras(frame, frame.shape, frame.extras, frames));
    GRAPHTREE_RETURN_IF_ERROR(Done(frames.Run()));
  }
  GRAPHTREE_RETURN_IF_ERROR(Insert("stacks", 3, stacks));
  for (StackId id = 0; id < snapshot_.stacks.size(); ++id) {
    uint64_t depth = 0;
    for (FrameId frame : snapshot_.stacks[id]) {
      stacks.Bind(uint64_t{id});
      stacks.Bind(depth++);
      stacks.Bind(uint64_t{frame});
      GRAPHTREE_RETURN_IF_ERROR(Done(stacks.Run()));
    }
  }
  return absl::OkStatus();
}

absl::Status SqliteWriter::WriteSide(const Side& side, absl::string_view name) {
  static constexpr StringId kSegmentKeys[] = {
      words::kDevice,       words::kAddress,       words::kTotalSize,    words::kAllocatedSize,
      words::kActiveSize,   words::kRequestedSize, words::kStream,       words::kSegmentType,
      words::kSegmentPoolId, words::kIsExpandable, words::kFrames};
  static constexpr StringId kBlockKeys[] = {words::kAddress, words::kSize, words::kRequestedSize,
                                            words::kState, words::kFrames};
  SqliteStatement segments, blocks;
  GRAPHTREE_RETURN_IF_ERROR(Insert("segments", 16, segments));
  GRAPHTREE_RETURN_IF_ERROR(Insert("blocks", 9, blocks));
  for (const Segment& segment : side.segments) {
    segments.Bind(segments_);
    segments.Bind(name);
    BindColumns(segment, segment.shape, segment.extras, kSegmentKeys, segments);
    GRAPHTREE_RETURN_IF_ERROR(BindExtras(segment, segment.shape, segment.extras, segments));
    GRAPHTREE_RETURN_IF_ERROR(Done(segments.Run()));
    for (size_t i = 0; i < segment.block_count; ++i) {
      const Block& block = snapshot_.blocks[segment.first_block + i];
      blocks.Bind(uint64_t{segment.first_block + i});
      blocks.Bind(segments_);
      BindColumns(block, block.shape, block.extras, kBlockKeys, blocks);
      GRAPHTREE_RETURN_IF_ERROR(BindExtras(block, block.shape, block.extras, blocks));
      GRAPHTREE_RETURN_IF_ERROR(Done(blocks.Run()));
    }
    ++segments_;
  }
  return WriteTraces(side, name);
}

absl::Status SqliteWriter::WriteTraces(const Side& side, absl::string_view name) {
  static constexpr StringId kEntryKeys[] = {
      words::kAction, words::kAddr, words::kSize, words::kStream, words::kTimeUs,
      words::kCompileContext, words::kUserMetadata, words::kInternalMetadata, words::kPoolId,
      words::kFrames};
  SqliteStatement traces, entries;
  GRAPHTREE_RETURN_IF_ERROR(Insert("traces", 3, traces));
  GRAPHTREE_RETURN_IF_ERROR(Insert("trace_entries", 15, entries));
  for (const Trace& trace : side.traces) {
    traces.Bind(traces_);
    traces.Bind(name);
    traces.Bind(trace.device);
    GRAPHTREE_RETURN_IF_ERROR(Done(traces.Run()));
    for (size_t i = 0; i < trace.entry_count; ++i) {
      const TraceEntry& entry = snapshot_.entries[trace.first_entry + i];
      const EntryDetails& details = snapshot_.details[entry.details];
      entries.Bind(uint64_t{trace.first_entry + i});
      entries.Bind(traces_);
      BindColumns(entry, details.shape, details.extras, kEntryKeys, entries);
      GRAPHTREE_RETURN_IF_ERROR(BindExtras(entry, details.shape, details.extras, entries));
      GRAPHTREE_RETURN_IF_ERROR(Done(entries.Run()));
    }
    ++traces_;
  }
  return absl::OkStatus();
}

absl::Status SqliteWriter::Run() {
  GRAPHTREE_RETURN_IF_ERROR(Execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"));
  GRAPHTREE_RETURN_IF_ERROR(Execute(kSqliteSchema));
  GRAPHTREE_RETURN_IF_ERROR(WriteAbout());
  GRAPHTREE_RETURN_IF_ERROR(WriteTables());
  GRAPHTREE_RETURN_IF_ERROR(WriteSide(snapshot_.gpu, "gpu"));
  GRAPHTREE_RETURN_IF_ERROR(WriteSide(snapshot_.host, "host"));
  GRAPHTREE_RETURN_IF_ERROR(Execute(kSqliteIndexes));
  return Execute("COMMIT;");
}

}  // namespace

absl::Status WriteSqlite(const Snapshot& snapshot, const std::string& path) {
  struct stat about;
  if (path == "-" || (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))) {
    return absl::InvalidArgumentError(
        absl::StrCat("SQLite can only be written into a plain file, not ", path));
  }
  PartFile part(path);
  unlink(part.path().c_str());
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(part.path().c_str(), &opened,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  SqliteDatabase database(opened);
  if (code != SQLITE_OK) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", path, ": ", sqlite3_errmsg(opened)));
  }
  const absl::Status status = SqliteWriter(snapshot, opened).Run();
  database.reset();
  return status.ok() ? part.Move() : status;
}

}  // namespace graphtree::snapshot
