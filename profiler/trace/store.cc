// Keeping records, and giving them again.
#include "profiler/trace/store.h"

namespace graphtree::trace {

bool TraceStore::HasRoom() {
  if (records_ < most_records_) {
    ++records_;
    return true;
  }
  ++dropped_;
  return false;
}

void TraceStore::Op(const DeviceOp& op) {
  if (!HasRoom()) return;
  ops_.push_back(op);
  ops_.back().extras = {};
}

void TraceStore::Span(const HostSpan& span) {
  if (!HasRoom()) return;
  spans_.push_back(span);
  spans_.back().extras = {};
}

void TraceStore::Counter(const CounterSample& sample) {
  if (HasRoom()) counters_.push_back(sample);
}

void TraceStore::Instant(const Mark& mark) {
  if (HasRoom()) marks_.push_back(mark);
}

void TraceStore::Lane(const LaneName& name) {
  if (HasRoom()) lanes_.push_back(name);
}

TraceNotes TraceStore::notes() const {
  TraceNotes notes = notes_;
  notes.dropped_records += dropped_;
  return notes;
}

void TraceStore::Replay(TraceListener& listener) const {
  listener.Begin(header_);
  for (const LaneName& name : lanes_) listener.Lane(name);
  for (const HostSpan& span : spans_) listener.Span(span);
  for (const DeviceOp& op : ops_) listener.Op(op);
  for (const CounterSample& sample : counters_) listener.Counter(sample);
  for (const Mark& mark : marks_) listener.Instant(mark);
  listener.End(notes());
}

}  // namespace graphtree::trace
