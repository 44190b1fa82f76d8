// Events as lines of JSON.
#include "profiler/trace/json_trace_writer.h"

#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "profiler/trace/json_keys.h"

namespace graphtree::trace {
namespace {

constexpr size_t kFlushBytes = 1 << 18;
// Of texts that are kept rendered; beyond it each op renders its own.
constexpr size_t kMostRenderedBytes = size_t{64} << 20;
// Of lanes and devices that are given a name.
constexpr size_t kMostNames = 1 << 16;

void AppendText(std::string& to, absl::string_view key, absl::string_view text) {
  if (!text.empty()) absl::StrAppend(&to, ",\"", key, "\":", JsonQuoted(text));
}

void AppendJson(std::string& to, absl::string_view key, absl::string_view json) {
  if (!json.empty()) absl::StrAppend(&to, ",\"", key, "\":", json);
}

void AppendNumber(std::string& to, absl::string_view key, int64_t value) {
  if (value != kUnknown) absl::StrAppend(&to, ",\"", key, "\":", value);
}

void AppendExtent(std::string& to, absl::string_view key, const Extent& extent) {
  if (extent == Extent{}) return;
  absl::StrAppend(&to, ",\"", key, "\":[", extent.x, ",", extent.y, ",", extent.z, "]");
}

}  // namespace

void JsonTraceWriter::NextEvent() {
  if (!is_first_) out_.Raw(",\n");
  is_first_ = false;
}

void JsonTraceWriter::FlushIfFull() {
  if (out_.size() >= kFlushBytes) Flush();
}

void JsonTraceWriter::Flush() {
  sink_.Write(out_.text());
  out_.Clear();
}

void JsonTraceWriter::Begin(const TraceHeader& header) {
  base_ns_ = header.base_ns;
  out_.Raw("{\"schemaVersion\":1,\"deviceProperties\":");
  out_.Raw(header.devices.empty() ? "[]" : header.devices);
  for (const auto& [name, json] : header.extras) {
    out_.Raw(",").Raw(JsonQuoted(name)).Raw(":").Raw(json);
  }
  out_.Member(json_keys::kMadeBy).Raw(JsonQuoted(header.made_by));
  out_.Raw(",\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":").Number(header.base_ns);
  out_.Raw(",\"traceEvents\":[\n");
}

JsonTraceWriter::Rendered JsonTraceWriter::Render(const Identity& identity) const {
  const auto text = [this](TextId id) { return tables_.text(id); };
  Rendered rendered;
  rendered.name = JsonQuoted(text(identity.name));
  std::string& op = rendered.of_op;
  if (!(identity.grid == Extent{})) {
    AppendNumber(op, json_keys::kSharedMemory, identity.shared_memory);
  }
  AppendExtent(op, json_keys::kGrid, identity.grid);
  AppendExtent(op, json_keys::kBlock, identity.block);
  AppendText(op, json_keys::kFunction, text(identity.function));
  AppendNumber(op, json_keys::kTreeNode, identity.tree_node);
  AppendText(op, json_keys::kProgram, text(identity.program));
  AppendText(op, json_keys::kShape, text(identity.shape));
  AppendText(op, json_keys::kScope, text(identity.scope));
  AppendNumber(op, json_keys::kBytesRead, identity.bytes_read);
  AppendNumber(op, json_keys::kBytesWritten, identity.bytes_written);
  std::string& kernel = rendered.of_kernel;
  AppendText(kernel, json_keys::kBackend, text(identity.backend));
  AppendText(kernel, json_keys::kFile, text(identity.file));
  AppendText(kernel, json_keys::kHash, text(identity.hash));
  AppendText(kernel, json_keys::kArguments, text(identity.arguments));
  AppendJson(kernel, json_keys::kInputDims, text(identity.input_dims));
  AppendJson(kernel, json_keys::kInputTypes, text(identity.input_types));
  rendered.is_known = true;
  return rendered;
}

const JsonTraceWriter::Rendered& JsonTraceWriter::RenderedOf(IdentityId id) {
  if (id < rendered_.size() && rendered_[id].is_known) return rendered_[id];
  scratch_ = Render(tables_.identity(id));
  const size_t bytes = scratch_.name.size() + scratch_.of_op.size() + scratch_.of_kernel.size();
  if (rendered_bytes_ + bytes > kMostRenderedBytes) return scratch_;
  rendered_bytes_ += bytes;
  if (id >= rendered_.size()) rendered_.resize(id + 1);
  rendered_[id] = scratch_;
  return rendered_[id];
}

const std::string& JsonTraceWriter::Quoted(TextId id) {
  std::string& quoted = quoted_[id];
  if (quoted.empty()) quoted = JsonQuoted(tables_.text(id));
  return quoted;
}

void JsonTraceWriter::Metadata(absl::string_view kind, int64_t process, int64_t thread,
                               absl::string_view member, absl::string_view json) {
  NextEvent();
  out_.Raw("{\"ph\":\"M\",\"name\":\"").Raw(kind).Raw("\"").Member("pid", process);
  out_.Member("tid", thread).Raw(",\"ts\":0.000,\"args\":{\"").Raw(member).Raw("\":").Raw(json);
  out_.Raw("}}");
}

// Whether the lane has no name yet. Beyond kMostNames lanes go without one.
bool JsonTraceWriter::IsNewLane(int64_t process, int64_t thread) {
  return named_lanes_.size() < kMostNames && named_lanes_.insert({process, thread}).second;
}

void JsonTraceWriter::NameLane(const DeviceOp& op, int64_t lane) {
  if (IsNewLane(op.device, lane)) {
    Metadata("thread_name", op.device, lane, "name", JsonQuoted(LaneText(op, tables_, lane)));
  }
  if (named_devices_.size() < kMostNames && named_devices_.insert(op.device).second) {
    Metadata("process_labels", op.device, 0, "labels",
             JsonQuoted(absl::StrCat("GPU ", op.device)));
  }
}

void JsonTraceWriter::Flow(char phase, uint64_t id, int64_t process, int64_t thread,
                           int64_t time_ns) {
  NextEvent();
  out_.Raw("{\"ph\":\"").Raw(absl::string_view(&phase, 1)).Raw("\"").Member("id", id);
  out_.Member("pid", process).Member("tid", thread).Member("ts").Microseconds(time_ns - base_ns_);
  out_.Raw(",\"cat\":\"ac2g\",\"name\":\"ac2g\"").Raw(phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

void JsonTraceWriter::Op(const DeviceOp& op) {
  const int64_t lane = LaneOf(op, tables_, options_.lanes);
  NameLane(op, lane);
  const Rendered& rendered = RenderedOf(op.identity);
  NextEvent();
  out_.Raw("{\"ph\":\"X\",\"cat\":\"").Raw(json_keys::CategoryOf(op.kind)).Raw("\",\"name\":");
  out_.Raw(rendered.name).Member("pid", op.device).Member("tid", lane);
  out_.Member("ts").Microseconds(op.start_ns - base_ns_);
  out_.Member("dur").Microseconds(op.duration_ns);
  const size_t arguments = out_.Raw(",\"args\":").Open();
  // Tools take whatever names its stream for a kernel, so a scope does not.
  if (op.kind != OpKind::kScope) {
    out_.Member(json_keys::kDevice, op.device);
    out_.Member(json_keys::kContext, op.context).Member(json_keys::kStream, op.stream);
  }
  if (op.external != 0) out_.Member(json_keys::kExternal, op.external);
  if (op.correlation != 0) out_.Member(json_keys::kCorrelation, op.correlation);
  if (op.graph != 0) out_.Member(json_keys::kGraph, op.graph);
  if (op.graph_node != 0) out_.Member(json_keys::kGraphNode, op.graph_node);
  if (op.bytes != kUnknown) {
    out_.Member(json_keys::kBytes, op.bytes);
    const double ns = static_cast<double>(op.duration_ns);
    if (ns > 0) out_.Member("memory bandwidth (GB/s)", static_cast<double>(op.bytes) / ns);
  }
  out_.Raw(rendered.of_op);
  if (op.graph_node != 0 || op.graph != 0 || op.correlation == 0) out_.Raw(rendered.of_kernel);
  if (!op.extras.empty()) out_.Raw(",").Raw(op.extras);
  out_.Close(arguments);
  out_.Raw("}");
  if (options_.flows && op.correlation != 0 && IsWork(op.kind)) {
    Flow('f', op.correlation, op.device, lane, op.start_ns);
  }
  FlushIfFull();
}

void JsonTraceWriter::Span(const HostSpan& span) {
  NextEvent();
  const absl::string_view name = tables_.text(span.name);
  out_.Raw("{\"ph\":\"X\",\"cat\":\"").Raw(json_keys::CategoryOf(span.kind, name));
  out_.Raw("\",\"name\":").Raw(Quoted(span.name)).Member("pid", span.process);
  out_.Member("tid", span.thread).Member("ts").Microseconds(span.start_ns - base_ns_);
  out_.Member("dur").Microseconds(span.duration_ns).Raw(",\"args\":");
  const size_t arguments = out_.Open();
  if (span.external != 0) out_.Member(json_keys::kExternal, span.external);
  if (span.correlation != 0) out_.Member(json_keys::kCorrelation, span.correlation);
  if (span.stream != kUnknown) out_.Member(json_keys::kStream, span.stream);
  if (json_keys::NeedsKind(span.kind)) {
    out_.Member(json_keys::kSpanKind).Raw("\"").Raw(NameOf(span.kind)).Raw("\"");
  }
  if (span.identity != 0) {
    const Rendered& rendered = RenderedOf(span.identity);
    const Identity& identity = tables_.identity(span.identity);
    if (identity.name != span.name || identity.backend != 0) {
      out_.Member(json_keys::kKernelName).Raw(rendered.name);
    }
    out_.Raw(rendered.of_kernel);
  }
  if (!span.extras.empty()) out_.Raw(",").Raw(span.extras);
  out_.Close(arguments);
  out_.Raw("}");
  if (options_.flows && span.kind == SpanKind::kLaunch && span.correlation != 0) {
    Flow('s', span.correlation, span.process, span.thread, span.start_ns);
  }
  FlushIfFull();
}

void JsonTraceWriter::Counter(const CounterSample& sample) {
  NextEvent();
  out_.Raw("{\"ph\":\"C\",\"name\":").Raw(Quoted(sample.name)).Member("pid", sample.process);
  out_.Raw(",\"tid\":0,\"ts\":").Microseconds(sample.time_ns - base_ns_).Raw(",\"args\":{");
  out_.Raw(sample.series == 0 ? "\"value\"" : Quoted(sample.series)).Raw(":");
  JsonWriter value;
  out_.Raw(value.Number(sample.value).text()).Raw("}}");
  FlushIfFull();
}

void JsonTraceWriter::Instant(const Mark& mark) {
  NextEvent();
  out_.Raw("{\"ph\":\"i\",\"s\":\"t\",\"name\":").Raw(Quoted(mark.name));
  out_.Member("pid", mark.process).Member("tid", mark.thread);
  out_.Member("ts").Microseconds(mark.time_ns - base_ns_).Raw("}");
  FlushIfFull();
}

void JsonTraceWriter::Lane(const LaneName& name) {
  const bool is_process = name.thread == kUnknown;
  if (!is_process && !IsNewLane(name.process, name.thread)) return;
  Metadata(is_process ? "process_name" : "thread_name", name.process,
           is_process ? 0 : name.thread, "name", Quoted(name.name));
}

void JsonTraceWriter::Arrow(const ArrowEnd& end) {
  const char phase = end.phase == ArrowEnd::Phase::kBegin  ? 's'
                     : end.phase == ArrowEnd::Phase::kStep ? 't'
                                                           : 'f';
  NextEvent();
  out_.Raw("{\"ph\":\"").Raw(absl::string_view(&phase, 1)).Raw("\"").Member("id", end.id);
  out_.Member("pid", end.process).Member("tid", end.thread);
  out_.Member("ts").Microseconds(end.time_ns - base_ns_);
  out_.Member("cat").Raw(Quoted(end.category)).Member("name").Raw(Quoted(end.name));
  out_.Raw(end.is_of_enclosing ? ",\"bp\":\"e\"}" : "}");
  FlushIfFull();
}

void JsonTraceWriter::End(const TraceNotes& notes) {
  JsonWriter json;
  json.BeginObject().Key("dropped records").Unsigned(notes.dropped_records);
  json.Key("unmatched ops").Unsigned(notes.unmatched_ops);
  json.Key("left out").Unsigned(notes.left_out).Key("cut").String(notes.cut);
  json.Key("clock drift (ppm)").Number(notes.drift_ppm).Key("remarks").BeginArray();
  for (const std::string& remark : notes.remarks) json.String(remark);
  json.EndArray().EndObject();
  out_.Raw("\n]").Member(json_keys::kNotes).Raw(json.text()).Raw("}\n");
  Flush();
}

}  // namespace graphtree::trace
