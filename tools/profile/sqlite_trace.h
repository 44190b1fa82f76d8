// A trace in SQLite, for people who would rather ask in SQL.
//
//   identities ---< ops       ops.identity_id = identities.id
//       `---------< spans     where a span launches one op
//   spans ---< ops            ops.correlation = spans.correlation
//   counters, marks, lanes, about
//   launched                  a view: each op with its launch, and what it is
//
//   SELECT name, count(*), avg(duration_ns) FROM launched GROUP BY name ORDER BY 3 DESC;
//
// A column is NULL where the trace does not say. Times are nanoseconds since 1970. Identities are
// written at the end, the rest as it comes, so memory does not grow with the trace.
#ifndef GRAPHTREE_TOOLS_PROFILE_SQLITE_TRACE_H_
#define GRAPHTREE_TOOLS_PROFILE_SQLITE_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/snapshot/part_file.h"
#include "allocator/snapshot/sqlite_handle.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::profile {

class SqliteTraceWriter : public trace::TraceListener {
 public:
  // The tables must outlive the writer. The file appears with Commit.
  static absl::StatusOr<std::unique_ptr<SqliteTraceWriter>> Create(
      const std::string& path, const trace::TraceTables& tables);

  void Begin(const trace::TraceHeader& header) override;
  void Op(const trace::DeviceOp& op) override;
  void Span(const trace::HostSpan& span) override;
  void Counter(const trace::CounterSample& sample) override;
  void Instant(const trace::Mark& mark) override;
  void Lane(const trace::LaneName& name) override;
  void End(const trace::TraceNotes& notes) override;

  // The first failure of all.
  absl::Status Commit();

 private:
  SqliteTraceWriter(const std::string& path, const trace::TraceTables& tables)
      : tables_(tables), part_(path) {}
  absl::Status Open();
  absl::Status Prepare(const char* sql, snapshot::SqliteStatement& statement);
  void Execute(const char* sql);
  void Run(snapshot::SqliteStatement& statement);
  void About(const char* key, absl::string_view value);
  void WriteIdentities();

  const trace::TraceTables& tables_;
  snapshot::PartFile part_;
  snapshot::SqliteDatabase database_;
  snapshot::SqliteStatement ops_, spans_, counters_, marks_, lanes_, about_, identities_;
  absl::Status status_;
};

}  // namespace graphtree::profile

#endif  // GRAPHTREE_TOOLS_PROFILE_SQLITE_TRACE_H_
