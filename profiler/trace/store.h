// TraceStore: a trace in memory, up to a limit; what comes beyond it is counted and dropped.
//
// Used where a trace is looked at more than once: by the page, and by a window of a server that is
// handed to several writers. Arrows, and members that no field holds (`extras`), are not kept. Not
// safe for concurrent use.
#ifndef GRAPHTREE_PROFILER_TRACE_STORE_H_
#define GRAPHTREE_PROFILER_TRACE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/trace/records.h"

namespace graphtree::trace {

class TraceStore : public TraceListener {
 public:
  explicit TraceStore(size_t most_records) : most_records_(most_records) {}

  void Begin(const TraceHeader& header) override { header_ = header; }
  void Op(const DeviceOp& op) override;
  void Span(const HostSpan& span) override;
  void Counter(const CounterSample& sample) override;
  void Instant(const Mark& mark) override;
  void Lane(const LaneName& name) override;
  void End(const TraceNotes& notes) override { notes_ = notes; }

  const TraceHeader& header() const { return header_; }
  const std::vector<DeviceOp>& ops() const { return ops_; }
  const std::vector<HostSpan>& spans() const { return spans_; }
  const std::vector<CounterSample>& counters() const { return counters_; }
  const std::vector<Mark>& marks() const { return marks_; }
  const std::vector<LaneName>& lanes() const { return lanes_; }
  uint64_t dropped() const { return dropped_; }
  // Of the source, with what this store dropped.
  TraceNotes notes() const;

  // Names first, then each kind in the order in which it came.
  void Replay(TraceListener& listener) const;

 private:
  bool HasRoom();

  const size_t most_records_;
  TraceHeader header_;
  std::vector<DeviceOp> ops_;
  std::vector<HostSpan> spans_;
  std::vector<CounterSample> counters_;
  std::vector<Mark> marks_;
  std::vector<LaneName> lanes_;
  size_t records_ = 0;
  uint64_t dropped_ = 0;
  TraceNotes notes_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_TRACE_STORE_H_
