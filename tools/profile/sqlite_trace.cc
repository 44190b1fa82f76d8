// Rows into tables, in one transaction.
#include "tools/profile/sqlite_trace.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "sqlite3.h"

namespace graphtree::profile {
namespace {

using snapshot::SqliteStatement;

constexpr char kSchema[] = R"(
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;
CREATE TABLE about (key TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE identities (id INTEGER PRIMARY KEY, name TEXT, function TEXT, tree_node INTEGER,
  program TEXT, shape TEXT, scope TEXT, backend TEXT, file TEXT, hash TEXT, arguments TEXT,
  input_dims TEXT, input_types TEXT, bytes_read INTEGER, bytes_written INTEGER,
  grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER,
  block_z INTEGER, shared_memory INTEGER);
CREATE TABLE ops (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, start_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL, identity_id INTEGER NOT NULL, correlation INTEGER,
  external_id INTEGER, device INTEGER, context INTEGER, stream INTEGER, graph INTEGER,
  graph_node INTEGER, op_of_graph INTEGER, bytes INTEGER, extras TEXT);
CREATE TABLE spans (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, start_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL, name TEXT, process INTEGER, thread INTEGER, correlation INTEGER,
  external_id INTEGER, stream INTEGER, identity_id INTEGER, extras TEXT);
CREATE TABLE counters (time_ns INTEGER NOT NULL, name TEXT, series TEXT, value REAL,
  process INTEGER);
CREATE TABLE marks (time_ns INTEGER NOT NULL, name TEXT, process INTEGER, thread INTEGER);
CREATE TABLE lanes (process INTEGER, thread INTEGER, name TEXT);
CREATE VIEW launched AS
  SELECT ops.*, identities.name, identities.function, identities.tree_node, identities.shape,
         spans.name AS launch, spans.start_ns AS launch_ns,
         ops.start_ns - spans.start_ns AS launch_to_start_ns
  FROM ops JOIN identities ON identities.id = ops.identity_id
  LEFT JOIN spans ON spans.correlation = ops.correlation AND spans.kind = 'launch';
)";

constexpr char kIndexes[] = R"(
CREATE INDEX ops_by_correlation ON ops (correlation);
CREATE INDEX spans_by_correlation ON spans (correlation);
CREATE INDEX ops_by_identity ON ops (identity_id);
COMMIT;
)";

void BindKnown(int64_t value, bool is_known, SqliteStatement& statement) {
  is_known ? statement.Bind(value) : statement.BindNull();
}

// Numbers that wrap to negative ones are told apart by nobody: SQLite has no others.
void BindNumber(uint64_t value, SqliteStatement& statement) {
  BindKnown(static_cast<int64_t>(value), value != 0, statement);
}

void BindText(absl::string_view text, SqliteStatement& statement) {
  text.empty() ? statement.BindNull() : statement.Bind(text);
}

// Extras are members; a column holds the object.
std::string ObjectOf(absl::string_view extras) {
  return extras.empty() ? "" : absl::StrCat("{", extras, "}");
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteTraceWriter>> SqliteTraceWriter::Create(
    const std::string& path, const trace::TraceTables& tables) {
  struct stat about;
  if (path == "-" || (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))) {
    return absl::InvalidArgumentError(
        absl::StrCat("SQLite can only be written into a plain file, not ", path));
  }
  auto writer = absl::WrapUnique(new SqliteTraceWriter(path, tables));
  unlink(writer->part_.path().c_str());
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(writer->part_.path().c_str(), &opened,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  writer->database_.reset(opened);
  if (code != SQLITE_OK) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", path, ": ", sqlite3_errmsg(opened)));
  }
  GRAPHTREE_RETURN_IF_ERROR(writer->Open());
  return writer;
}

absl::Status SqliteTraceWriter::Prepare(const char* sql, SqliteStatement& statement) {
  GRAPHTREE_ASSIGN_OR_RETURN(statement, SqliteStatement::Prepare(database_.get(), sql));
  return absl::OkStatus();
}

absl::Status SqliteTraceWriter::Open() {
  Execute(kSchema);
  GRAPHTREE_RETURN_IF_ERROR(status_);
  GRAPHTREE_RETURN_IF_ERROR(Prepare(
      "INSERT INTO ops VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", ops_));
  GRAPHTREE_RETURN_IF_ERROR(
      Prepare("INSERT INTO spans VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?)", spans_));
  GRAPHTREE_RETURN_IF_ERROR(Prepare("INSERT INTO counters VALUES (?,?,?,?,?)", counters_));
  GRAPHTREE_RETURN_IF_ERROR(Prepare("INSERT INTO marks VALUES (?,?,?,?)", marks_));
  GRAPHTREE_RETURN_IF_ERROR(Prepare("INSERT INTO lanes VALUES (?,?,?)", lanes_));
  GRAPHTREE_RETURN_IF_ERROR(Prepare("INSERT INTO about VALUES (?,?)", about_));
  return Prepare(
      "INSERT INTO identities VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", identities_);
}

void SqliteTraceWriter::Execute(const char* sql) {
  if (!status_.ok()) return;
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    status_ = snapshot::SqliteError(database_.get(), "writing the trace");
  }
}

void SqliteTraceWriter::Run(SqliteStatement& statement) {
  if (!statement.Run() && status_.ok()) {
    status_ = snapshot::SqliteError(database_.get(), "writing a row");
  }
}

void SqliteTraceWriter::About(const char* key, absl::string_view value) {
  about_.Bind(absl::string_view(key));
  about_.Bind(value);
  Run(about_);
}

void SqliteTraceWriter::Begin(const trace::TraceHeader& header) {
  About("made by", header.made_by);
  if (!header.devices.empty()) About("devices", header.devices);
  for (const auto& [name, json] : header.extras) About(name.c_str(), json);
}

void SqliteTraceWriter::Op(const trace::DeviceOp& op) {
  const std::string extras = ObjectOf(op.extras);
  ops_.Bind(absl::string_view(NameOf(op.kind)));
  ops_.Bind(op.start_ns);
  ops_.Bind(op.duration_ns);
  ops_.Bind(uint64_t{op.identity});
  BindNumber(op.correlation, ops_);
  BindNumber(op.external, ops_);
  ops_.Bind(int64_t{op.device});
  ops_.Bind(uint64_t{op.context});
  ops_.Bind(uint64_t{op.stream});
  BindNumber(op.graph, ops_);
  BindNumber(op.graph_node, ops_);
  BindNumber(trace::LocalNode(op.graph_node), ops_);
  BindKnown(op.bytes, op.bytes != trace::kUnknown, ops_);
  BindText(extras, ops_);
  Run(ops_);
}

void SqliteTraceWriter::Span(const trace::HostSpan& span) {
  const std::string extras = ObjectOf(span.extras);
  spans_.Bind(absl::string_view(NameOf(span.kind)));
  spans_.Bind(span.start_ns);
  spans_.Bind(span.duration_ns);
  BindText(tables_.text(span.name), spans_);
  spans_.Bind(span.process);
  spans_.Bind(span.thread);
  BindNumber(span.correlation, spans_);
  BindNumber(span.external, spans_);
  BindKnown(span.stream, span.stream != trace::kUnknown, spans_);
  BindNumber(span.identity, spans_);
  BindText(extras, spans_);
  Run(spans_);
}

void SqliteTraceWriter::Counter(const trace::CounterSample& sample) {
  counters_.Bind(sample.time_ns);
  BindText(tables_.text(sample.name), counters_);
  BindText(tables_.text(sample.series), counters_);
  const std::string value = absl::StrCat(sample.value);
  counters_.Bind(absl::string_view(value));  // the column's type makes a number of it
  counters_.Bind(sample.process);
  Run(counters_);
}

void SqliteTraceWriter::Instant(const trace::Mark& mark) {
  marks_.Bind(mark.time_ns);
  BindText(tables_.text(mark.name), marks_);
  marks_.Bind(mark.process);
  marks_.Bind(mark.thread);
  Run(marks_);
}

void SqliteTraceWriter::Lane(const trace::LaneName& name) {
  lanes_.Bind(name.process);
  BindKnown(name.thread, name.thread != trace::kUnknown, lanes_);
  BindText(tables_.text(name.name), lanes_);
  Run(lanes_);
}

void SqliteTraceWriter::WriteIdentities() {
  const auto text = [this](trace::TextId id) { BindText(tables_.text(id), identities_); };
  const auto known = [this](int64_t value) {
    BindKnown(value, value != trace::kUnknown, identities_);
  };
  for (trace::IdentityId id = 0; id < tables_.identity_count(); ++id) {
    const trace::Identity& identity = tables_.identity(id);
    identities_.Bind(uint64_t{id});
    text(identity.name);
    text(identity.function);
    known(identity.tree_node);
    for (trace::TextId each :
         {identity.program, identity.shape, identity.scope, identity.backend, identity.file,
          identity.hash, identity.arguments, identity.input_dims, identity.input_types}) {
      text(each);
    }
    known(identity.bytes_read);
    known(identity.bytes_written);
    for (const trace::Extent& extent : {identity.grid, identity.block}) {
      BindNumber(extent.x, identities_);
      BindNumber(extent.y, identities_);
      BindNumber(extent.z, identities_);
    }
    BindNumber(identity.shared_memory, identities_);
    Run(identities_);
  }
}

void SqliteTraceWriter::End(const trace::TraceNotes& notes) {
  WriteIdentities();
  About("dropped records", absl::StrCat(notes.dropped_records));
  About("left out", absl::StrCat(notes.left_out));
  About("clock drift (ppm)", absl::StrCat(notes.drift_ppm));
  if (!notes.cut.empty()) About("cut", notes.cut);
  for (const std::string& remark : notes.remarks) About("remark", remark);
  Execute(kIndexes);
}

absl::Status SqliteTraceWriter::Commit() {
  for (SqliteStatement* statement :
       {&ops_, &spans_, &counters_, &marks_, &lanes_, &about_, &identities_}) {
    *statement = SqliteStatement();  // a database with statements does not close
  }
  database_.reset();
  return status_.ok() ? part_.Move() : status_;
}

}  // namespace graphtree::profile
