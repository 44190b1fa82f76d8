// Records into rows.
#include "profiler/stats/trace_statistics.h"

#include <algorithm>

namespace graphtree::trace {
namespace {

constexpr uint64_t kOddNumber = 0x9e3779b97f4a7c15u;

uint64_t Mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * kOddNumber;
  return hash ^ (hash >> 32);
}

}  // namespace

void TraceStatistics::Extend(int64_t first, int64_t last) {
  first_ns_ = has_time_ ? std::min(first_ns_, first) : first;
  last_ns_ = has_time_ ? std::max(last_ns_, last) : last;
  has_time_ = true;
}

OpRow* TraceStatistics::RowOf(const DeviceOp& op) {
  bool is_new = false;
  const uint32_t local = LocalNode(op.graph_node);
  OpRow* const row = ops_.Find({op.identity, local}, &is_new);
  if (row == nullptr) {
    ++without_room_;
  } else if (is_new) {
    row->identity = op.identity;
    row->local_node = local;
    row->kind = op.kind;
  }
  return row;
}

TraceStatistics::Launch* TraceStatistics::Open(uint64_t correlation) {
  const auto found = open_.find(correlation);
  if (found != open_.end()) return &found->second;
  if (order_.size() == kOpenLaunches) {
    const auto oldest = open_.find(order_.front());
    Close(oldest->second);
    open_.erase(oldest);
    order_.pop_front();
  }
  order_.push_back(correlation);
  return &open_[correlation];
}

// When the stream's last op before this one ends; kUnknown for the first of a stream.
int64_t TraceStatistics::EndBefore(const DeviceOp& op) {
  const auto key = std::make_pair(op.device, op.stream);
  const int64_t end = op.start_ns + op.duration_ns;
  const auto found = stream_ends_.find(key);
  if (found == stream_ends_.end()) {
    if (stream_ends_.size() < kMostRows) stream_ends_[key] = end;
    return kUnknown;
  }
  const int64_t before = found->second;
  found->second = std::max(found->second, end);
  return before;
}

void TraceStatistics::Op(const DeviceOp& op) {
  ++op_count_;
  Extend(op.start_ns, op.start_ns + op.duration_ns);
  if (!IsWork(op.kind)) return;
  const int64_t end_before = EndBefore(op);
  busy_.Add(op.device, op.start_ns, op.start_ns + op.duration_ns);
  OpRow* const row = RowOf(op);
  if (row == nullptr) return;
  row->duration.Add(op.duration_ns);
  row->batches.Add(op.duration_ns);
  const Identity& identity = tables_.identity(op.identity);
  for (const int64_t bytes : {op.bytes, identity.bytes_read, identity.bytes_written}) {
    if (bytes > 0) row->bytes += static_cast<double>(bytes);
  }
  if (op.correlation == 0) {
    ++without_launch_;
    if (end_before != kUnknown) row->gap.Add(op.start_ns - end_before);
    return;
  }
  AddToLaunch(op, *row, *Open(op.correlation), end_before);
}

void TraceStatistics::AddToLaunch(const DeviceOp& op, OpRow& row, Launch& launch,
                                  int64_t end_before) {
  if (launch.ops == 0) {
    launch.end_before = end_before;
    launch.graph = op.graph;
  }
  ++launch.ops;
  launch.is_graph |= op.graph_node != 0 || op.graph != 0;
  Stay leaves;
  if (launch.coming.Push({op.start_ns, op.start_ns + op.duration_ns, ops_.NumberOf(row)},
                         leaves)) {
    Run(leaves, launch);
  }
}

// The next op of a launch, in the order of their begins.
void TraceStatistics::Run(const Stay& stay, Launch& launch) {
  OpRow& row = ops_[stay.row];
  if (!launch.has_row) {
    launch.first_ns = launch.last_end = stay.start_ns;
    launch.first_op = row.identity;
    if (launch.end_before != kUnknown) row.gap.Add(stay.start_ns - launch.end_before);
  } else {
    const int64_t gap = std::max<int64_t>(0, stay.start_ns - launch.last_end);
    row.gap.Add(gap);
    AddPair(ops_[launch.last_op], row, gap);
  }
  launch.has_row = true;
  launch.last_op = stay.row;
  launch.first_ns = std::min(launch.first_ns, stay.start_ns);
  launch.work_ns +=
      std::max<int64_t>(0, stay.end_ns - std::max(stay.start_ns, launch.last_end));
  launch.last_end = std::max(launch.last_end, stay.end_ns);
  launch.signature = Mixed(launch.signature, tables_.identity(row.identity).name);
}

void TraceStatistics::AddPair(const OpRow& first, const OpRow& second, int64_t gap) {
  PairRow* const row = pairs_.Find({first.identity, second.identity});
  if (row == nullptr) return;
  row->first = first.identity;
  row->second = second.identity;
  row->gap.Add(gap);
}

ReplayRow* TraceStatistics::RowOf(const Launch& launch) {
  const Identity& identity = tables_.identity(launch.first_op);
  const bool is_known = identity.function != 0 || identity.tree_node != kUnknown;
  const uint64_t what = is_known            ? Mixed(1, identity.function)
                        : launch.graph != 0 ? Mixed(2, launch.graph)
                                            : Mixed(3, launch.signature);
  bool is_new = false;
  ReplayRow* const row =
      replays_.Find({what, is_known ? identity.tree_node : kUnknown}, &is_new);
  if (row == nullptr) {
    ++without_room_;
  } else if (is_new) {
    row->function = identity.function;
    row->tree_node = identity.tree_node;
    row->graph = launch.graph;
    row->signature = launch.signature;
    row->first_op = launch.first_op;
    row->ops_of_first = launch.ops;
  }
  return row;
}

void TraceStatistics::Close(Launch& launch) {
  if (launch.ops == 0) return;
  for (Stay stay; launch.coming.Pop(stay);) Run(stay, launch);
  if (!launch.has_call) without_launch_ += launch.ops;
  const int64_t latency = std::max<int64_t>(0, launch.first_ns - launch.call_ns);
  const bool has_idle = launch.end_before != kUnknown;
  const int64_t idle = has_idle ? std::max<int64_t>(0, launch.first_ns - launch.end_before) : 0;
  const int64_t waiting = has_idle ? std::min(latency, idle) : latency;
  if (!launch.is_graph) {
    if (!launch.has_call || launch.ops != 1) return;
    ops_[launch.last_op].latency.Add(latency);
    waiting_alone_.Add(waiting);
    return;
  }
  ReplayRow* const row = RowOf(launch);
  if (row == nullptr) return;
  row->ops += launch.ops;
  row->unmatched += launch.ops != row->ops_of_first;
  const int64_t wall = launch.last_end - launch.first_ns;
  row->wall.Add(wall);
  row->batches.Add(wall);
  row->work.Add(std::min(wall, launch.work_ns));
  row->gaps.Add(wall - launch.work_ns);
  if (has_idle) row->idle.Add(idle);
  if (launch.has_call) {
    row->call.Add(launch.call_duration);
    row->latency.Add(latency);
    row->waiting.Add(waiting);
  }
}

void TraceStatistics::Span(const HostSpan& span) {
  ++span_count_;
  Extend(span.start_ns, span.start_ns + span.duration_ns);
  SpanRow* const row = spans_.Find({static_cast<uint8_t>(span.kind), span.name});
  if (row == nullptr) {
    ++without_room_;
  } else {
    row->kind = span.kind;
    row->name = span.name;
    row->duration.Add(span.duration_ns);
  }
  if (span.correlation == 0 || span.kind != SpanKind::kLaunch) return;
  Launch* const launch = Open(span.correlation);
  launch->has_call = true;
  launch->call_ns = span.start_ns;
  launch->call_duration = span.duration_ns;
  launch->is_graph |= span.is_graph;
}

void TraceStatistics::Counter(const CounterSample& sample) {
  ++counter_count_;
  CounterRow* const row = counters_.Find({sample.name, sample.series});
  if (row == nullptr) return;
  row->name = sample.name;
  row->series = sample.series;
  row->least = row->count == 0 ? sample.value : std::min(row->least, sample.value);
  row->most = row->count == 0 ? sample.value : std::max(row->most, sample.value);
  row->last = sample.value;
  ++row->count;
}

void TraceStatistics::End(const TraceNotes& notes) {
  notes_ = notes;
  for (const uint64_t correlation : order_) Close(open_.at(correlation));
  open_.clear();
  order_.clear();
  busy_.End();
}

}  // namespace graphtree::trace
