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

// The row of a key, a new one where there is room; null where there is none.
template <typename Key, typename Map, typename Row>
Row* Find(const Key& key, Map& map, std::vector<Row>& rows, size_t most, bool& is_new) {
  const auto found = map.find(key);
  is_new = found == map.end();
  if (!is_new) return &rows[found->second];
  if (rows.size() >= most) return nullptr;
  map[key] = static_cast<uint32_t>(rows.size());
  rows.emplace_back();
  return &rows.back();
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
  OpRow* const row =
      Find(std::make_pair(op.identity, local), op_rows_, ops_, kMostRows, is_new);
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

double TraceStatistics::BusyOf(const Stay& stay, Device& device) {
  const int64_t from = std::max(device.end_ns, stay.start_ns);
  device.end_ns = std::max(device.end_ns, stay.end_ns);
  return static_cast<double>(std::max<int64_t>(0, stay.end_ns - from));
}

void TraceStatistics::AddBusy(const DeviceOp& op) {
  constexpr size_t kMostDevices = 1024;
  if (devices_.size() >= kMostDevices && !devices_.contains(op.device)) return;
  Device& device = devices_[op.device];
  Stay leaves;
  if (device.coming.Push({op.start_ns, op.start_ns + op.duration_ns, 0}, leaves)) {
    busy_ns_ += BusyOf(leaves, device);
  }
}

void TraceStatistics::Op(const DeviceOp& op) {
  ++op_count_;
  Extend(op.start_ns, op.start_ns + op.duration_ns);
  if (!IsWork(op.kind)) return;
  const int64_t end_before = EndBefore(op);
  AddBusy(op);
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
  const uint32_t index = static_cast<uint32_t>(&row - ops_.data());
  if (launch.coming.Push({op.start_ns, op.start_ns + op.duration_ns, index}, leaves)) {
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
  bool is_new = false;
  PairRow* const row = Find(std::make_pair(first.identity, second.identity), pair_rows_, pairs_,
                            kMostRows, is_new);
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
  ReplayRow* const row = Find(std::make_pair(what, is_known ? identity.tree_node : kUnknown),
                              replay_rows_, replays_, kMostRows, is_new);
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
  bool is_new = false;
  SpanRow* const row = Find(std::make_pair(static_cast<uint8_t>(span.kind), span.name), span_rows_,
                            spans_, kMostRows, is_new);
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
  bool is_new = false;
  CounterRow* const row = Find(std::make_pair(sample.name, sample.series), counter_rows_, counters_,
                               kMostRows, is_new);
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
  for (auto& [device, state] : devices_) {
    for (Stay stay; state.coming.Pop(stay);) busy_ns_ += BusyOf(stay, state);
  }
}

}  // namespace graphtree::trace
