// A trace of a million records: how long it takes to write it in each format, and to read it for
// `profile show`; how much memory that takes, whatever the file's size.
//
// A record is an op or a launch; the arrows of the JSON are not counted, so a million records are
// two million events of the file. Each op has all that our own traces say of it.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/json_trace_writer.h"
#include "profiler/trace/perfetto_trace_writer.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"
#include "tools/benching/file_rows.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"
#include "tools/trace/read/trace_reader.h"

namespace graphtree::bench {
namespace {

using trace::TraceStatistics;
using trace::TraceTables;

constexpr int kOps = 249;  // of a replay, with its launch a quarter of a thousand records

trace::PlainReplays Plan(int thousands) { return {.replays = 4 * thousands, .ops = kOps}; }

int Thousands() { return Smoke() ? 2 : 1000; }

template <typename Body>
Outcome Seconds(const Body& body) {
  std::vector<double> seconds;
  for (int round = 0; round < (Smoke() ? 1 : 5); ++round) {
    const double start = ProcessorSeconds();
    GRAPHTREE_RETURN_IF_ERROR(body());
    seconds.push_back(ProcessorSeconds() - start);
  }
  return Measurement{.ours = Median(seconds), .spread = Spread(seconds)};
}

template <typename Writer>
absl::Status WriteTrace(int thousands, const std::string& path) {
  GRAPHTREE_ASSIGN_OR_RETURN(const auto sink, trace::FileSink::Create(path));
  TraceTables tables;
  Writer writer(tables, *sink);
  trace::PlayReplays(Plan(thousands), tables, writer);
  return sink->status();
}

template <typename Writer>
Outcome WriteMillion() {
  TemporaryFile file;
  return Seconds([&] { return WriteTrace<Writer>(Thousands(), file.path()); });
}

GRAPHTREE_ROW(WriteJson, {.name = "trace.write.json.million",
                          .ours = "writing a million records as JSON",
                          .unit = "s",
                          .goal = "value <= 1 s"}) {
  return WriteMillion<trace::JsonTraceWriter>();
}

GRAPHTREE_ROW(WritePerfetto, {.name = "trace.write.perfetto.million",
                              .ours = "writing a million records for Perfetto",
                              .unit = "s",
                              .goal = "value <= 1 s"}) {
  return WriteMillion<trace::PerfettoTraceWriter>();
}

absl::Status Show(const std::string& path) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  GRAPHTREE_RETURN_IF_ERROR(trace::ReadTrace(path, tables, statistics));
  const uint64_t wanted = 1000 * static_cast<uint64_t>(Thousands());
  if (statistics.records() == wanted) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("it read ", statistics.records(), " of ", wanted));
}

GRAPHTREE_ROW(ShowMillion, {.name = "trace.show.million",
                            .ours = "what `profile show` reads and counts of a million records",
                            .unit = "s",
                            .goal = "value <= 1 s"}) {
  TemporaryFile file;
  GRAPHTREE_RETURN_IF_ERROR(WriteTrace<trace::JsonTraceWriter>(Thousands(), file.path()));
  return Seconds([&] { return Show(file.path()); });
}

GRAPHTREE_ROW(ShowMemory, {.name = "trace.show.memory",
                           .ours = "most memory while reading",
                           .against = "the file's size",
                           .unit = "B",
                           .goal = "ratio <= 0.1"}) {
  TemporaryFile file;
  GRAPHTREE_RETURN_IF_ERROR(WriteTrace<trace::JsonTraceWriter>(Thousands(), file.path()));
  const double least = Smoke() ? 1e9 : 0;  // a small file says nothing
  return MemoryOfReading(file.path(), [&] { return Show(file.path()); }, least);
}

}  // namespace
}  // namespace graphtree::bench
