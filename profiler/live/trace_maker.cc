// From events and activities to spans and ops.
#include "profiler/live/trace_maker.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace graphtree::live {
namespace {

using trace::SpanKind;

// So many launches may wait for their time; a light profile has fewer pairs of events than that.
constexpr size_t kMostTimeable = 4 * LightTimer::kPairs;

SpanKind KindOf(Phase phase) {
  switch (phase) {
    case Phase::kMatch: return SpanKind::kMatch;
    case Phase::kRecord: return SpanKind::kRecord;
    case Phase::kPatch: return SpanKind::kPatch;
    case Phase::kRestore: return SpanKind::kRestore;
    case Phase::kPark: return SpanKind::kPark;
    case Phase::kStage: return SpanKind::kStage;
    case Phase::kPlan: return SpanKind::kPlan;
    case Phase::kEvict: return SpanKind::kEvict;
    case Phase::kRequest: return SpanKind::kRequest;
    case Phase::kWarmUp:
    case Phase::kEager:
    case Phase::kPart:
    case Phase::kStep: return SpanKind::kOther;
  }
  return SpanKind::kOther;
}

// Launches begin with the names that PyTorch's traces have for them, on every device: by these,
// readers of traces know a launch.
const char* CallOf(OpKind kind) {
  if (kind == OpKind::kCopy) return "cudaMemcpyAsync";
  return kind == OpKind::kFill ? "cudaMemsetAsync" : "cuLaunchKernel";
}

std::string NameWith(absl::string_view what, absl::string_view function, bool ok) {
  return absl::StrCat(what, function.empty() ? "" : " ", function, ok ? "" : " (failed)");
}

trace::OpKind KindOf(activity::ActivityKind kind) {
  switch (kind) {
    case activity::ActivityKind::kKernel: return trace::OpKind::kKernel;
    case activity::ActivityKind::kCopy: return trace::OpKind::kCopy;
    case activity::ActivityKind::kFill: return trace::OpKind::kFill;
  }
  return trace::OpKind::kOther;
}

trace::Extent ExtentOf(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

}  // namespace

TraceMaker::TraceMaker(trace::TraceTables& tables, trace::TraceListener& listener)
    : tables_(tables),
      listener_(listener),
      process_(getpid()),
      names_(tables),
      join_([this](const trace::DeviceOp& op) {
        ++ops_;
        listener_.Op(op);
      }) {}

void TraceMaker::Take(HostEvent event) {
  switch (event.kind) {
    case HostEvent::Kind::kNone: return;
    case HostEvent::Kind::kLaunch: return TakeLaunch(event);
    case HostEvent::Kind::kOp: return TakeOp(event);
    case HostEvent::Kind::kMoment: return TakeMoment(event);
    case HostEvent::Kind::kPhaseBegin: return BeginPhase(event);
    case HostEvent::Kind::kPhaseEnd: return EndPhase(event);
  }
}

trace::HostSpan TraceMaker::SpanOf(const HostEvent& event, SpanKind kind, absl::string_view name) {
  trace::HostSpan span;
  span.start_ns = event.time_ns;
  span.duration_ns = event.duration_ns;
  span.process = process_;
  span.thread = event.thread;
  span.name = tables_.Text(name);
  span.kind = kind;
  return span;
}

void TraceMaker::TakeLaunch(const HostEvent& event) {
  ++launches_;
  const absl::string_view function =
      event.graph == nullptr ? event.function.view() : absl::string_view(event.graph->function);
  trace::HostSpan span =
      SpanOf(event, SpanKind::kLaunch, NameWith("cudaGraphLaunch", function, event.ok));
  span.correlation = event.launch;
  span.is_graph = true;
  span.stream = StreamOf(event);
  listener_.Span(span);
  if (event.is_timed) {
    const auto node = static_cast<int64_t>(event.recording);
    RememberTimeable(event.launch, {names_.OfWhole(function, node), StreamOf(event),
                                    trace::OpKind::kWholeGraph});
  }
  if (!event.ok || event.correlation == 0) return;
  join_.Launched({event.launch, event.correlation, event.executable, event.stream,
                  names_.Of(event.graph)});
}

void TraceMaker::TakeOp(const HostEvent& event) {
  ++launches_;
  trace::HostSpan span =
      SpanOf(event, SpanKind::kLaunch, NameWith(CallOf(event.op->kind), event.op->name, event.ok));
  span.correlation = event.launch;
  span.stream = StreamOf(event);
  span.identity = names_.Of(*event.op, event.function.view(), trace::kUnknown);
  listener_.Span(span);
  if (!event.is_timed) return;
  RememberTimeable(event.launch,
                   {span.identity, StreamOf(event), TraceKindOf(event.op->kind)});
}

void TraceMaker::TakeMoment(const HostEvent& event) {
  trace::Mark mark;
  mark.time_ns = event.time_ns;
  mark.process = process_;
  mark.thread = event.thread;
  mark.name = tables_.Text(
      absl::StrCat(NameWith(GraphMomentName(event.moment), event.function.view(), event.ok),
                   ", tree node ", event.recording));
  listener_.Instant(mark);
}

void TraceMaker::BeginPhase(const HostEvent& event) {
  phases_[event.thread].push_back({event.phase, event.time_ns});
}

void TraceMaker::EndPhase(const HostEvent& event) {
  const auto of_thread = phases_.find(event.thread);
  if (of_thread == phases_.end()) return;
  std::vector<Phased>& open = of_thread->second;
  // A begin that was lost, as the queue was full, leaves its end alone; a lost end leaves a begin.
  while (!open.empty() && open.back().phase != event.phase) open.pop_back();
  if (open.empty()) {
    phases_.erase(of_thread);
    return;
  }
  HostEvent whole;
  whole.thread = event.thread;
  whole.time_ns = open.back().begin_ns;
  whole.duration_ns = event.time_ns - open.back().begin_ns;
  open.pop_back();
  // Threads come and go, and a profile may stay for long.
  if (open.empty()) phases_.erase(of_thread);
  if (event.phase == Phase::kRequest) {
    return listener_.Span(SpanOf(whole, SpanKind::kRequest, event.function.view()));
  }
  const std::string name = NameWith(PhaseName(event.phase), event.function.view(), event.ok);
  listener_.Span(SpanOf(whole, KindOf(event.phase), name));
}

void TraceMaker::Take(const activity::Activity& activity) {
  trace::DeviceOp op;
  op.start_ns = clock_.ToTarget(activity.start_ns);
  op.duration_ns = activity.end_ns - activity.start_ns;
  op.correlation = activity.correlation;
  op.graph_node = activity.graph_node;
  op.graph = activity.graph;
  op.bytes = activity.bytes;
  op.stream = activity.stream;
  op.context = activity.context;
  op.device = activity.device;
  op.kind = KindOf(activity.kind);
  trace::Identity identity;
  identity.name = tables_.Text(activity.name);
  if (activity.kind == activity::ActivityKind::kKernel) {
    identity.shared_memory = activity.static_shared + activity.dynamic_shared;
    identity.grid = ExtentOf(activity.grid);
    identity.block = ExtentOf(activity.block);
  }
  op.identity = tables_.Intern(identity);
  join_.Op(op);
}

void TraceMaker::RememberTimeable(uint64_t launch, const Timeable& timeable) {
  if (timeable_.size() >= kMostTimeable) timeable_.clear();
  timeable_.insert_or_assign(launch, timeable);
  const auto early = timed_early_.find(launch);
  if (early == timed_early_.end()) return;
  const TimedLaunch timed = early->second;
  timed_early_.erase(early);
  Take(timed);
}

void TraceMaker::Take(const TimedLaunch& timed) {
  const auto found = timeable_.find(timed.launch);
  if (found == timeable_.end()) {
    if (timed_early_.size() >= kMostTimeable) timed_early_.clear();
    timed_early_.insert_or_assign(timed.launch, timed);
    return;
  }
  trace::DeviceOp op;
  op.start_ns = timed.start_ns;
  op.duration_ns = timed.duration_ns;
  op.correlation = timed.launch;
  op.identity = found->second.identity;
  op.stream = found->second.stream;
  op.kind = found->second.kind;
  timeable_.erase(found);
  ++ops_;
  listener_.Op(op);
}

void TraceMaker::Count(int64_t time_ns, absl::string_view name, absl::string_view series,
                       double value) {
  trace::CounterSample sample;
  sample.time_ns = time_ns;
  sample.name = tables_.Text(name);
  sample.series = tables_.Text(series);
  sample.value = value;
  sample.process = process_;
  listener_.Counter(sample);
}

// Ops of the device have its own number of the stream, which their launch has, too.
uint32_t TraceMaker::StreamOf(const HostEvent& event) {
  return event.device_stream < 0 ? StreamNumber(event.stream)
                                 : static_cast<uint32_t>(event.device_stream);
}

uint32_t TraceMaker::StreamNumber(uint64_t stream) {
  const auto [place, is_new] =
      streams_.try_emplace(stream, static_cast<uint32_t>(streams_.size() + 1));
  return place->second;
}

}  // namespace graphtree::live
