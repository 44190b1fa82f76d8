// PerfettoTraceWriter: a trace in Perfetto's own format: smaller than JSON, exact to the
// nanosecond, and readable up to its last packet wherever it ends.
//
//   process 4711          GPU 0
//     thread 12             stream 3
//       |launch|            |copy|  |==attend==|
//          `----- flow ---->|       stream 3 (2)
//                                     |norm|        what overlaps on a stream has a line of its own
//
// Perfetto stacks what lies in one track, so ops of a graph that run side by side would seem
// nested: each takes the first line of its stream that is free. The arrow of a launch leads to its
// first op; all its ops have its correlation number. Not safe for concurrent use.
#ifndef GRAPHTREE_PROFILER_TRACE_PERFETTO_TRACE_WRITER_H_
#define GRAPHTREE_PROFILER_TRACE_PERFETTO_TRACE_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "profiler/trace/lanes.h"
#include "profiler/trace/perfetto_packets.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {

class PerfettoTraceWriter : public TraceListener {
 public:
  // Both must outlive the writer.
  PerfettoTraceWriter(const TraceTables& tables, TraceSink& sink,
                      LaneChoice lanes = LaneChoice::kStream)
      : tables_(tables), packets_(tables, sink), lanes_(lanes) {}

  // Hands over what is not yet in the sink: what a crash would cost.
  void Flush() override { packets_.Flush(); }

  void Begin(const TraceHeader& header) override;
  void Op(const DeviceOp& op) override;
  void Span(const HostSpan& span) override;
  void Counter(const CounterSample& sample) override;
  void Instant(const Mark& mark) override;
  void Lane(const LaneName& name) override;
  void End(const TraceNotes& notes) override;

 private:
  // Records come about in the order of time, or about against it.
  struct Line {
    uint64_t track;
    int64_t first_ns, end_ns;  // of all that lies in it
  };
  using ThreadKey = std::pair<int64_t, int64_t>;  // of a process

  uint64_t NewTrack(PerfettoTrack track);
  uint64_t DeviceTrack(int32_t device);
  uint64_t OpTrack(const DeviceOp& op);
  uint64_t ThreadTrack(int64_t process, int64_t thread);
  std::string LaneNameOf(int64_t process, int64_t thread) const;
  void AddLaunchFacts(IdentityId id);
  void AddText(absl::string_view name, TextId id);
  void AddNumber(absl::string_view name, int64_t number);
  void AddExtras(absl::string_view extras);

  const TraceTables& tables_;
  PerfettoPackets packets_;
  const LaneChoice lanes_;
  uint64_t last_track_ = 0;
  uint64_t about_track_ = 0;
  int64_t last_ns_ = 0;
  std::vector<PerfettoFact> facts_;
  std::string extras_, grid_, block_, kind_;
  absl::flat_hash_map<int32_t, uint64_t> devices_;
  absl::flat_hash_map<std::pair<int32_t, int64_t>, std::vector<Line>> lines_;
  absl::flat_hash_map<ThreadKey, TextId> names_;
  absl::flat_hash_map<ThreadKey, uint64_t> threads_;
  absl::flat_hash_map<int64_t, uint64_t> processes_;
  absl::flat_hash_map<std::pair<TextId, TextId>, uint64_t> counters_;
  absl::flat_hash_set<uint64_t> started_;  // launches whose first op has come
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_PERFETTO_TRACE_WRITER_H_
