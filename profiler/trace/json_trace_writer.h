// JsonTraceWriter: a trace as the Chrome JSON that PyTorch's profiler writes, key by key, so that
// Perfetto, chrome://tracing and tools for PyTorch's traces open it.
//
//   {"schemaVersion":1, ..., "traceEvents":[
//   {"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch", ... "correlation":7}},
//   {"ph":"s","id":7, ... "ac2g"},
//   {"ph":"X","cat":"kernel","name":"attend", ... "graph node id":12884901890,"tree node":5}},
//   {"ph":"f","id":7, ... "ac2g"}
//   ],"graphtreeNotes":{...}}
//
// One pass, one event a line: what is there of a file that was cut off can be read. Times count
// from the header's base, since a double of microseconds since 1970 has no room for nanoseconds.
//
// An op that was launched alone has its kernel's file, hash and arguments on the launch's event, as
// PyTorch does: exactly one event for a launch. An op of a graph has them itself, since nobody
// launched it alone.
//
// Not safe for concurrent use. What an identity looks like as text is kept, so an op costs two
// copies and a few numbers.
#ifndef GRAPHTREE_PROFILER_TRACE_JSON_TRACE_WRITER_H_
#define GRAPHTREE_PROFILER_TRACE_JSON_TRACE_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "profiler/trace/event_text.h"
#include "profiler/trace/lanes.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {

struct JsonTraceOptions {
  LaneChoice lanes = LaneChoice::kStream;
  bool flows = true;  // arrows from a launch to each of its ops
};

class JsonTraceWriter : public TraceListener {
 public:
  // Both must outlive the writer.
  JsonTraceWriter(const TraceTables& tables, TraceSink& sink, JsonTraceOptions options = {})
      : tables_(tables), sink_(sink), options_(options) {}

  // Hands over what is not yet in the sink: what a crash would cost.
  void Flush() override;

  void Begin(const TraceHeader& header) override;
  void Op(const DeviceOp& op) override;
  void Span(const HostSpan& span) override;
  void Counter(const CounterSample& sample) override;
  void Instant(const Mark& mark) override;
  void Lane(const LaneName& name) override;
  void Arrow(const ArrowEnd& end) override;
  void End(const TraceNotes& notes) override;

 private:
  struct Rendered {
    std::string name;       // in quotes
    std::string of_op;      // members that any op of it has
    std::string of_kernel;  // those that stand with its launch, or with an op of a graph
    bool is_known = false;
  };

  void NextEvent();
  void FlushIfFull();
  const Rendered& RenderedOf(IdentityId id);
  Rendered Render(const Identity& identity) const;
  const std::string& Quoted(TextId id);
  bool IsNewLane(int64_t process, int64_t thread);
  void NameLane(const DeviceOp& op, int64_t lane);
  void Metadata(absl::string_view kind, int64_t process, int64_t thread, absl::string_view member,
                absl::string_view json);
  void Flow(char phase, uint64_t id, int64_t process, int64_t thread, int64_t time_ns);

  const TraceTables& tables_;
  TraceSink& sink_;
  const JsonTraceOptions options_;
  int64_t base_ns_ = 0;
  bool is_first_ = true;
  EventText out_;
  std::vector<Rendered> rendered_;
  size_t rendered_bytes_ = 0;
  Rendered scratch_;
  absl::flat_hash_map<TextId, std::string> quoted_;
  absl::flat_hash_set<std::pair<int64_t, int64_t>> named_lanes_;  // process or device; thread
  absl::flat_hash_set<int32_t> named_devices_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_JSON_TRACE_WRITER_H_
