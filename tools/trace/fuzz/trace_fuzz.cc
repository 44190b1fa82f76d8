// What a fuzzer calls with any bytes: reading them ends with a trace or a reason; what was read can
// be counted, laid over one another and written in every format; and what is written as JSON is
// read again as the same trace.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "device/base/check.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/json_trace_writer.h"
#include "profiler/trace/perfetto_trace_writer.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"
#include "tools/trace/read/trace_reader.h"

namespace graphtree::trace {
namespace {

constexpr size_t kMostRecords = 1 << 16;
// Small, so that full tables are met, too.
constexpr TableLimits kLimits = {.text_bytes = 1 << 20, .texts = 1000, .identities = 300};

// The trace as JSON, or nothing where it is none.
std::string Written(absl::string_view text) {
  TraceTables tables(kLimits);
  std::string json;
  TextSink sink(&json);
  JsonTraceWriter writer(tables, sink);
  return ParseTrace(text, tables, writer).ok() ? json : "";
}

// The last member of the file tells what was lost on the way, and may differ.
absl::string_view WithoutNotes(absl::string_view json) {
  return json.substr(0, json.rfind("\n],\"graphtreeNotes\""));
}

void Use(absl::string_view text) {
  TraceTables tables(kLimits);
  TraceStore store(kMostRecords);
  if (!ParseTrace(text, tables, store).ok()) return;
  TraceStatistics statistics(tables);
  store.Replay(statistics);
  for (const OpRow& row : statistics.ops()) {
    GRAPHTREE_CHECK(row.duration.Quantile(0.5) <= row.duration.max());
    GRAPHTREE_CHECK(row.duration.count() > 0);
  }
  std::string bytes;
  TextSink sink(&bytes);
  PerfettoTraceWriter writer(tables, sink);
  store.Replay(writer);
}

}  // namespace
}  // namespace graphtree::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using graphtree::trace::Written;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  graphtree::trace::Use(text);
  const std::string once = Written(text);
  if (once.empty()) return 0;
  const std::string twice = Written(once);
  GRAPHTREE_CHECK(!twice.empty()) << once;
  // A first pass may overflow its tables and join what it had not yet read; from then on nothing
  // changes.
  const std::string thrice = Written(twice);
  GRAPHTREE_CHECK(graphtree::trace::WithoutNotes(twice) == graphtree::trace::WithoutNotes(thrice));
  return 0;
}
