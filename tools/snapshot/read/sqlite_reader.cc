// Tables back into dictionaries and lists, inside out: frames, stacks, blocks, segments, traces.
#include "tools/snapshot/read/sqlite_reader.h"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/sqlite_handle.h"
#include "allocator/snapshot/sqlite_schema.h"
#include "device/base/status_macros.h"
#include "tools/snapshot/read/json_reader.h"

namespace graphtree::snapshot {
namespace {

constexpr int kOpsPerTick = 1 << 20;
constexpr int64_t kFreeTicks = 64;
constexpr int64_t kOpsPerByte = 40;

// Which column holds which key; a pool takes two columns.
struct Column {
  StringId key;
  int number;
};

class SqliteReader {
 public:
  SqliteReader(sqlite3* database, RecordBuilder& builder, Snapshot& snapshot)
      : database_(database), builder_(builder), snapshot_(snapshot) {}

  absl::StatusOr<Value> Run();

 private:
  // Calls row(statement) for every row of the query.
  template <typename Row>
  absl::Status ForEach(absl::string_view sql, Row row);
  absl::Status CheckTables();
  absl::Status ReadAbout();
  absl::Status ReadShapes();
  absl::Status ReadFrames();
  absl::Status ReadStacks();
  absl::Status ReadBlocks();
  absl::Status ReadSegments();
  absl::Status ReadTraces();
  absl::Status ReadEntries();
  absl::StatusOr<Value> ReadRoot();

  // The dictionary of a row: `columns` say where its keys are, the two last columns of the row are
  // its shape and extras.
  absl::StatusOr<Value> Dict(SqliteStatement& row, absl::Span<const Column> columns, int shape,
                             Value blocks);
  Value ColumnValue(SqliteStatement& row, StringId key, int number);
  Value ListOf(const std::vector<Value>& items);
  Value Text(absl::string_view text) {
    return Value(Value::kString, snapshot_.strings.Intern(text));
  }

  // Version 1 wrote tuples as arrays.
  absl::StatusOr<Value> Json(absl::string_view text) {
    return ParseJsonValue(text, builder_, snapshot_, keeps_tuples_);
  }

  sqlite3* database_;
  bool keeps_tuples_ = true;
  RecordBuilder& builder_;
  Snapshot& snapshot_;
  absl::flat_hash_map<int64_t, std::vector<StringId>> shapes_;
  absl::flat_hash_map<int64_t, Value> frames_;
  absl::flat_hash_map<int64_t, Value> stacks_;
  absl::flat_hash_map<int64_t, std::vector<Value>> blocks_;   // by segment
  absl::flat_hash_map<int64_t, std::vector<Value>> entries_;  // by trace
  std::vector<Value> gpu_segments_, host_segments_, gpu_traces_;
  Value host_trace_;
};

template <typename Row>
absl::Status SqliteReader::ForEach(absl::string_view sql, Row row) {
  GRAPHTREE_ASSIGN_OR_RETURN(SqliteStatement statement, SqliteStatement::Prepare(database_, sql));
  for (;;) {
    const int code = statement.Step();
    if (code == SQLITE_DONE) return absl::OkStatus();
    if (code != SQLITE_ROW) return SqliteError(database_, "reading the SQLite file");
    GRAPHTREE_RETURN_IF_ERROR(row(statement));
  }
}

absl::Status SqliteReader::CheckTables() {
  int tables = 0;
  GRAPHTREE_RETURN_IF_ERROR(ForEach(
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
      "AND name IN ('about', 'root', 'shapes', 'frames', 'stacks', 'segments', 'blocks', 'traces', "
      "'trace_entries')",
      [&](SqliteStatement& row) {
        tables = static_cast<int>(row.Integer(0));
        return absl::OkStatus();
      }));
  if (tables == 9) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "this SQLite file is no allocator snapshot: the tables that `graphtree memory convert` "
      "writes are not in it");
}

absl::Status SqliteReader::ReadAbout() {
  int64_t version = 0;
  GRAPHTREE_RETURN_IF_ERROR(ForEach("SELECT version, segments_only FROM about",
                                    [&](SqliteStatement& row) {
                                      version = row.Integer(0);
                                      snapshot_.segments_only = row.Integer(1) != 0;
                                      return absl::OkStatus();
                                    }));
  keeps_tuples_ = version >= 2;
  if (version >= 1 && version <= kSqliteVersion) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the SQLite file has version ", version,
                                                 " of its tables; version ", kSqliteVersion,
                                                 " is known"));
}

absl::Status SqliteReader::ReadShapes() {
  return ForEach("SELECT id, keys FROM shapes", [&](SqliteStatement& row) -> absl::Status {
    GRAPHTREE_ASSIGN_OR_RETURN(const Value list,
                               ParseJsonValue(row.Text(1), builder_, snapshot_));
    const std::vector<Value>* keys = snapshot_.values.ListItems(list);
    if (keys == nullptr) return absl::InvalidArgumentError("a shape is no list of keys");
    std::vector<StringId>& shape = shapes_[row.Integer(0)];
    for (Value key : *keys) {
      if (!key.is(Value::kString)) return absl::InvalidArgumentError("a shape's key is no text");
      shape.push_back(key.id());
    }
    return absl::OkStatus();
  });
}

Value SqliteReader::ColumnValue(SqliteStatement& row, StringId key, int number) {
  switch (key) {
    case words::kFrames: {
      const auto found = stacks_.find(row.Integer(number));
      return found != stacks_.end() ? found->second
                                    : snapshot_.values.NewObject(Object::kNewList);
    }
    case words::kPoolId:
    case words::kSegmentPoolId:
      return snapshot_.values.Pair(static_cast<uint64_t>(row.Integer(number)),
                                   static_cast<uint64_t>(row.Integer(number + 1)));
    case words::kIsExpandable: return Value(Value::kBool, row.Integer(number) != 0 ? 1 : 0);
    case words::kAddr:
    case words::kAddress:
    case words::kDeviceFree:
      return snapshot_.values.Unsigned(static_cast<uint64_t>(row.Integer(number)));
    default:
      return row.IsInteger(number) ? snapshot_.values.Integer(row.Integer(number))
                                   : Text(row.Text(number));
  }
}

absl::StatusOr<Value> SqliteReader::Dict(SqliteStatement& row, absl::Span<const Column> columns,
                                         int shape, Value blocks) {
  const auto keys = shapes_.find(row.Integer(shape));
  if (keys == shapes_.end()) return absl::InvalidArgumentError("a row names a shape that is lost");
  Value extras;
  if (!row.IsNull(shape + 1)) {
    GRAPHTREE_ASSIGN_OR_RETURN(extras, Json(row.Text(shape + 1)));
  }
  std::vector<Value> items;
  for (StringId key : keys->second) {
    Value value;
    const std::optional<Value> extra = snapshot_.values.Get(extras, key);
    if (extra.has_value()) {
      value = *extra;
    } else if (key == words::kBlocks) {
      value = blocks;
    } else {
      for (const Column& column : columns) {
        const bool both = key == words::kDeviceFree && column.key == words::kAddr;
        if (column.key == key || both) value = ColumnValue(row, key, column.number);
      }
    }
    items.push_back(Value(Value::kString, key));
    items.push_back(value);
  }
  const Value dict = snapshot_.values.NewObject(Object::kNewDict);
  return items.empty() ? dict : builder_.FillDict(dict, items.data(), items.size() / 2);
}

Value SqliteReader::ListOf(const std::vector<Value>& items) {
  const Value list = snapshot_.values.NewObject(Object::kNewList);
  if (!items.empty()) builder_.FillList(list, items.data(), items.size());
  return list;
}

absl::Status SqliteReader::ReadFrames() {
  static constexpr Column kColumns[] = {
      {words::kName, 1}, {words::kFilename, 2}, {words::kLine, 3}};
  return ForEach("SELECT id, name, filename, line, shape_id, extras FROM frames",
                 [&](SqliteStatement& row) -> absl::Status {
                   GRAPHTREE_ASSIGN_OR_RETURN(frames_[row.Integer(0)],
                                              Dict(row, kColumns, 4, Value()));
                   return absl::OkStatus();
                 });
}

absl::Status SqliteReader::ReadStacks() {
  int64_t current = -1;
  std::vector<Value> frames;
  const auto finish = [&] {
    if (!frames.empty()) stacks_[current] = ListOf(frames);
    frames.clear();
  };
  GRAPHTREE_RETURN_IF_ERROR(
      ForEach("SELECT stack_id, frame_id FROM stacks ORDER BY stack_id, depth",
              [&](SqliteStatement& row) -> absl::Status {
                if (row.Integer(0) != current) finish();
                current = row.Integer(0);
                const auto frame = frames_.find(row.Integer(1));
                if (frame == frames_.end()) {
                  return absl::InvalidArgumentError("a stack names a frame that is lost");
                }
                frames.push_back(frame->second);
                return absl::OkStatus();
              }));
  finish();
  return absl::OkStatus();
}

absl::Status SqliteReader::ReadBlocks() {
  static constexpr Column kColumns[] = {{words::kAddress, 1},
                                        {words::kSize, 2},
                                        {words::kRequestedSize, 3},
                                        {words::kState, 4},
                                        {words::kFrames, 5}};
  return ForEach(
      "SELECT segment_id, address, size, requested_size, state, stack_id, shape_id, extras "
      "FROM blocks ORDER BY id",
      [&](SqliteStatement& row) -> absl::Status {
        GRAPHTREE_ASSIGN_OR_RETURN(const Value block, Dict(row, kColumns, 6, Value()));
        blocks_[row.Integer(0)].push_back(block);
        return absl::OkStatus();
      });
}

absl::Status SqliteReader::ReadSegments() {
  static constexpr Column kColumns[] = {{words::kDevice, 2},        {words::kAddress, 3},
                                        {words::kTotalSize, 4},     {words::kAllocatedSize, 5},
                                        {words::kActiveSize, 6},    {words::kRequestedSize, 7},
                                        {words::kStream, 8},        {words::kSegmentType, 9},
                                        {words::kSegmentPoolId, 10}, {words::kIsExpandable, 12},
                                        {words::kFrames, 13}};
  return ForEach(
      "SELECT id, side, device, address, total_size, allocated_size, active_size, requested_size, "
      "stream, segment_type, pool_0, pool_1, is_expandable, stack_id, shape_id, extras "
      "FROM segments ORDER BY id",
      [&](SqliteStatement& row) -> absl::Status {
        const Value blocks = ListOf(blocks_[row.Integer(0)]);
        GRAPHTREE_ASSIGN_OR_RETURN(const Value segment, Dict(row, kColumns, 14, blocks));
        (row.Text(1) == "host" ? host_segments_ : gpu_segments_).push_back(segment);
        return absl::OkStatus();
      });
}

absl::Status SqliteReader::ReadEntries() {
  static constexpr Column kColumns[] = {
      {words::kAction, 1},        {words::kAddr, 2},           {words::kSize, 3},
      {words::kStream, 4},        {words::kTimeUs, 5},         {words::kCompileContext, 6},
      {words::kUserMetadata, 7},  {words::kInternalMetadata, 8}, {words::kPoolId, 9},
      {words::kFrames, 11}};
  return ForEach(
      "SELECT trace_id, action, addr, size, stream, time_us, compile_context, user_metadata, "
      "internal_metadata, pool_0, pool_1, stack_id, shape_id, extras FROM trace_entries ORDER BY "
      "id",
      [&](SqliteStatement& row) -> absl::Status {
        GRAPHTREE_ASSIGN_OR_RETURN(const Value entry, Dict(row, kColumns, 12, Value()));
        entries_[row.Integer(0)].push_back(entry);
        return absl::OkStatus();
      });
}

absl::Status SqliteReader::ReadTraces() {
  return ForEach("SELECT id, side FROM traces ORDER BY id", [&](SqliteStatement& row) {
    const Value list = ListOf(entries_[row.Integer(0)]);
    if (row.Text(1) == "host") {
      host_trace_ = list;
    } else {
      gpu_traces_.push_back(list);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Value> SqliteReader::ReadRoot() {
  if (snapshot_.segments_only) return ListOf(gpu_segments_);
  std::vector<Value> items;
  GRAPHTREE_RETURN_IF_ERROR(
      ForEach("SELECT key, value FROM root ORDER BY position",
              [&](SqliteStatement& row) -> absl::Status {
                Value key, value;
                if (row.IsBlob(0)) {
                  GRAPHTREE_ASSIGN_OR_RETURN(key, Json(row.Text(0)));
                } else {
                  key = Text(row.Text(0));
                }
                switch (key.is(Value::kString) ? key.id() : words::kEmpty) {
                  case words::kSegments: value = ListOf(gpu_segments_); break;
                  case words::kHostSegments: value = ListOf(host_segments_); break;
                  case words::kDeviceTraces: value = ListOf(gpu_traces_); break;
                  case words::kHostTraces:
                    value = host_trace_.is(Value::kNone) ? ListOf({}) : host_trace_;
                    break;
                  default: {
                    GRAPHTREE_ASSIGN_OR_RETURN(value, Json(row.Text(1)));
                  }
                }
                items.push_back(key);
                items.push_back(value);
                return absl::OkStatus();
              }));
  const Value root = snapshot_.values.NewObject(Object::kNewDict);
  return items.empty() ? root : builder_.FillDict(root, items.data(), items.size() / 2);
}

absl::StatusOr<Value> SqliteReader::Run() {
  GRAPHTREE_RETURN_IF_ERROR(CheckTables());
  GRAPHTREE_RETURN_IF_ERROR(ReadAbout());
  GRAPHTREE_RETURN_IF_ERROR(ReadShapes());
  GRAPHTREE_RETURN_IF_ERROR(ReadFrames());
  GRAPHTREE_RETURN_IF_ERROR(ReadStacks());
  GRAPHTREE_RETURN_IF_ERROR(ReadBlocks());
  GRAPHTREE_RETURN_IF_ERROR(ReadSegments());
  GRAPHTREE_RETURN_IF_ERROR(ReadEntries());
  GRAPHTREE_RETURN_IF_ERROR(ReadTraces());
  return ReadRoot();
}

// SQLite itself does not mind a file that lost its last pages, as long as it needs none of them.
absl::Status CheckWhole(const std::string& path, int64_t size) {
  constexpr size_t kHeaderBytes = 100;
  std::string header(kHeaderBytes, '\0');
  std::ifstream(path, std::ios::binary).read(header.data(), kHeaderBytes);
  const auto number = [&](size_t at, int bytes) {
    int64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<uint8_t>(header[at + i]);
    return value;
  };
  const int64_t page = number(16, 2) == 1 ? 65536 : number(16, 2);
  if (number(28, 4) * page <= size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the SQLite file is cut off: it has ", size, " of ", number(28, 4) * page,
                   " bytes; write or copy it again"));
}

}  // namespace

absl::StatusOr<Value> ReadSqlite(const std::string& path, RecordBuilder& builder,
                                 Snapshot& snapshot) {
  struct stat about = {};
  stat(path.c_str(), &about);
  GRAPHTREE_RETURN_IF_ERROR(CheckWhole(path, about.st_size));
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const SqliteDatabase database(opened);
  if (code != SQLITE_OK) return SqliteError(opened, absl::StrCat("opening ", path));
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_exec(opened, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
  int64_t ticks = kFreeTicks + about.st_size * kOpsPerByte / kOpsPerTick;
  const auto tick = [](void* left) -> int { return --*static_cast<int64_t*>(left) < 0 ? 1 : 0; };
  sqlite3_progress_handler(opened, kOpsPerTick, tick, &ticks);
  return SqliteReader(opened, builder, snapshot).Run();
}

}  // namespace graphtree::snapshot
