// TraceStatistics: what a trace says in numbers, collected while its records pass.
//
//   launch call      |======|                                     `call`
//   latency          |----------|                                 `latency`: to the first op
//   ops                         |==A==|  |=B=||===C===|
//   wall                        |---------------------|           `wall`: first begin to last end
//   work                        |=====|  |============|           `work`: at least one op runs
//   gaps                              |--|                        `gaps`: none does, until the last
//
// A replay is what one launch of a graph ran. Rows of replays are told apart by function and tree
// node where the trace knows them, else by the graph's id, else by the names of its ops in order:
// PyTorch's traces on CUDA 13.0 name neither. An op's row is what it is (Identity) and its place in
// the graph.
//
// A launch and its ops may come in any order, with others in between; launches wait for their ops
// in a window of kOpenLaunches. Each table has a limit; what found no room is counted. So memory is
// bounded, whatever the trace. Profilers hand ops over about as they end; they are put into the
// order of their begins through a window of a few ops (in_order.h), so that the work and the gaps
// of ops that run side by side are right.
//
// Not safe for concurrent use. A record costs some tens of nanoseconds.
#ifndef GRAPHTREE_PROFILER_STATS_TRACE_STATISTICS_H_
#define GRAPHTREE_PROFILER_STATS_TRACE_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profiler/stats/batch_medians.h"
#include "profiler/stats/busy_time.h"
#include "profiler/stats/distribution.h"
#include "profiler/stats/in_order.h"
#include "profiler/stats/row_table.h"
#include "profiler/trace/records.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {

struct OpRow {
  IdentityId identity = 0;
  uint32_t local_node = 0;  // its place in its graph; 0 where it is in none, or not known
  OpKind kind = OpKind::kKernel;
  Distribution duration = {};
  BatchMedians batches = {};  // of the duration
  Distribution gap = {};      // in which its stream, or its replay, did nothing before it
  Distribution latency = {};  // from its launch, where it was launched alone
  double bytes = 0;           // moved by copies, and declared by launches
};

struct ReplayRow {
  TextId function = 0;
  int64_t tree_node = kUnknown;
  uint32_t graph = 0;      // of the first replay
  uint64_t signature = 0;  // of its ops' names
  IdentityId first_op = 0;
  uint64_t ops = 0;        // of all replays
  uint64_t unmatched = 0;  // replays with another number of ops than the first
  uint64_t ops_of_first = 0;
  Distribution call = {}, latency = {}, wall = {}, work = {}, gaps = {};
  Distribution idle = {};  // of its stream, before it
  // Of the latency, what its stream had nothing else to do in: the time that a launch that comes
  // earlier, or is shorter, would save.
  Distribution waiting = {};
  BatchMedians batches = {};  // of the wall time
};

struct SpanRow {
  SpanKind kind = SpanKind::kOther;
  TextId name = 0;
  Distribution duration = {};
};

// Two ops of replays that follow one another, and the time in between.
struct PairRow {
  IdentityId first = 0, second = 0;
  Distribution gap = {};
};

struct CounterRow {
  TextId name = 0, series = 0;
  uint64_t count = 0;
  double least = 0, most = 0, last = 0;
};

class TraceStatistics : public TraceListener {
 public:
  // The tables must outlive this.
  explicit TraceStatistics(const TraceTables& tables) : tables_(tables) {}

  void Begin(const TraceHeader& header) override { header_ = header; }
  void Op(const DeviceOp& op) override;
  void Span(const HostSpan& span) override;
  void Counter(const CounterSample& sample) override;
  void Instant(const Mark& mark) override { ++marks_; }
  void Lane(const LaneName& name) override {}
  void End(const TraceNotes& notes) override;

  const TraceTables& tables() const { return tables_; }
  const TraceHeader& header() const { return header_; }
  const TraceNotes& notes() const { return notes_; }
  const std::vector<OpRow>& ops() const { return ops_.rows(); }
  const std::vector<ReplayRow>& replays() const { return replays_.rows(); }
  const std::vector<SpanRow>& spans() const { return spans_.rows(); }
  const std::vector<PairRow>& pairs() const { return pairs_.rows(); }
  const std::vector<CounterRow>& counters() const { return counters_.rows(); }

  // Of ops that were launched one by one: how long their stream had nothing else to do and waited
  // for the launch. What a graph of them would save at most.
  const Distribution& waiting_alone() const { return waiting_alone_; }

  uint64_t records() const { return op_count_ + span_count_ + counter_count_ + marks_; }
  uint64_t op_count() const { return op_count_; }
  uint64_t span_count() const { return span_count_; }
  uint64_t without_launch() const { return without_launch_; }  // ops whose launch never came
  uint64_t without_room() const { return without_room_; }      // records that no table had room for
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }
  double busy_ns() const { return busy_.ns(); }  // of all devices: at least one op runs

  static constexpr size_t kOpenLaunches = 1 << 16;
  static constexpr size_t kMostRows = 1 << 15;  // of each table; and as many streams

 private:
  struct Stay {
    int64_t start_ns, end_ns;
    uint32_t row;
  };
  struct Launch {
    InOrder<Stay, 8> coming = {};
    int64_t call_ns = 0, call_duration = 0;
    int64_t first_ns = 0, last_end = 0;
    int64_t work_ns = 0;
    int64_t end_before = kUnknown;  // of the stream of the op that came first
    uint64_t ops = 0;
    uint64_t signature = 0;
    IdentityId first_op = 0;
    uint32_t last_op = 0;   // its row
    uint32_t graph = 0;
    bool has_call = false;
    bool is_graph = false;
    bool has_row = false;
  };

  Launch* Open(uint64_t correlation);
  void Close(Launch& launch);
  OpRow* RowOf(const DeviceOp& op);
  ReplayRow* RowOf(const Launch& launch);
  void AddPair(const OpRow& first, const OpRow& second, int64_t gap);
  void AddToLaunch(const DeviceOp& op, OpRow& row, Launch& launch, int64_t end_before);
  void Run(const Stay& stay, Launch& launch);
  int64_t EndBefore(const DeviceOp& op);
  void Extend(int64_t first, int64_t last);

  const TraceTables& tables_;
  TraceHeader header_;
  TraceNotes notes_;
  template <typename Key, typename Row>
  using Table = RowTable<Key, Row, kMostRows>;
  Table<std::pair<IdentityId, uint32_t>, OpRow> ops_;       // by the place in the graph, too
  Table<std::pair<uint64_t, int64_t>, ReplayRow> replays_;  // by what it is, and its tree node
  Table<std::pair<uint8_t, TextId>, SpanRow> spans_;        // by kind and name
  Table<std::pair<IdentityId, IdentityId>, PairRow> pairs_;
  Table<std::pair<TextId, TextId>, CounterRow> counters_;   // by name and series
  absl::flat_hash_map<uint64_t, Launch> open_;              // by correlation
  std::deque<uint64_t> order_;                              // in which these came
  absl::flat_hash_map<std::pair<int32_t, uint32_t>, int64_t> stream_ends_;
  BusyTime busy_;
  uint64_t op_count_ = 0, span_count_ = 0, counter_count_ = 0, marks_ = 0;
  uint64_t without_launch_ = 0, without_room_ = 0;
  int64_t first_ns_ = 0, last_ns_ = 0;
  bool has_time_ = false;
  Distribution waiting_alone_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_TRACE_STATISTICS_H_
