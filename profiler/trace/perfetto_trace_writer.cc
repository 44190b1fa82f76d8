// Tracks, and which facts stand beside an event.
#include "profiler/trace/perfetto_trace_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "profiler/trace/json_keys.h"

namespace graphtree::trace {
namespace {

constexpr size_t kMostStarted = 1 << 20;
constexpr size_t kMostLines = 64;  // of one stream; beyond it they are drawn over one another
constexpr size_t kMostTracks = 1 << 16;

std::string TextOf(const Extent& extent) {
  return absl::StrCat("[", extent.x, ",", extent.y, ",", extent.z, "]");
}

}  // namespace

uint64_t PerfettoTraceWriter::NewTrack(PerfettoTrack track) {
  track.id = ++last_track_;
  packets_.Track(track);
  return track.id;
}

void PerfettoTraceWriter::Begin(const TraceHeader& header) {
  about_track_ = NewTrack({.name = absl::StrCat("trace made by ", header.made_by)});
  last_ns_ = header.base_ns;
}

uint64_t PerfettoTraceWriter::DeviceTrack(int32_t device) {
  const auto found = devices_.find(device);
  if (found != devices_.end()) return found->second;
  return devices_[device] = NewTrack({.name = absl::StrCat("GPU ", device)});
}

// The first line of the op's lane in which nothing runs when it begins.
uint64_t PerfettoTraceWriter::OpTrack(const DeviceOp& op) {
  // What a scope has launched encloses ops, so it has lines of its own.
  const int64_t lane = op.kind == OpKind::kScope ? -1 - int64_t{op.stream}
                                                 : LaneOf(op, tables_, lanes_);
  // A file may name a million streams.
  if (last_track_ >= kMostTracks && !lines_.contains({op.device, lane})) return about_track_;
  std::vector<Line>& lines = lines_[{op.device, lane}];
  const int64_t end = op.start_ns + op.duration_ns;
  for (Line& line : lines) {
    const bool is_free = line.end_ns <= op.start_ns || end <= line.first_ns;
    if (!is_free && lines.size() < kMostLines) continue;
    line.first_ns = std::min(line.first_ns, op.start_ns);
    line.end_ns = std::max(line.end_ns, end);
    return line.track;
  }
  const std::string name = lane < 0 ? absl::StrCat("scopes on stream ", op.stream)
                                    : LaneText(op, tables_, lane);
  const std::string suffix = lines.empty() ? "" : absl::StrCat(" (", lines.size() + 1, ")");
  const uint64_t track =
      last_track_ < kMostTracks
          ? NewTrack({.parent = DeviceTrack(op.device), .name = absl::StrCat(name, suffix)})
          : about_track_;
  lines.push_back({track, op.start_ns, end});
  return track;
}

std::string PerfettoTraceWriter::LaneNameOf(int64_t process, int64_t thread) const {
  const auto named = names_.find({process, thread});
  return named == names_.end() ? "" : std::string(tables_.text(named->second));
}

uint64_t PerfettoTraceWriter::ThreadTrack(int64_t process, int64_t thread) {
  if (process == kUnknown) return about_track_;
  const auto found = threads_.find({process, thread});
  if (found != threads_.end()) return found->second;
  if (last_track_ >= kMostTracks) return about_track_;
  uint64_t& of_process = processes_[process];
  if (of_process == 0) {
    of_process = NewTrack({.name = LaneNameOf(process, kUnknown), .process = process});
  }
  const uint64_t track =
      NewTrack({.name = LaneNameOf(process, thread), .process = process, .thread = thread});
  threads_[{process, thread}] = track;
  return track;
}

void PerfettoTraceWriter::AddText(absl::string_view name, TextId id) {
  if (id == 0) return;
  facts_.push_back({.name = name, .kind = PerfettoFact::Kind::kText, .number = id});
}

void PerfettoTraceWriter::AddNumber(absl::string_view name, int64_t number) {
  if (number == kUnknown) return;
  facts_.push_back({.name = name,
                    .kind = PerfettoFact::Kind::kSigned,
                    .number = static_cast<uint64_t>(number)});
}

void PerfettoTraceWriter::AddExtras(absl::string_view extras) {
  if (extras.empty()) return;
  extras_ = absl::StrCat("{", extras, "}");
  facts_.push_back({.name = "more", .kind = PerfettoFact::Kind::kJson, .json = extras_});
}

void PerfettoTraceWriter::AddLaunchFacts(IdentityId id) {
  const Identity& identity = tables_.identity(id);
  AddText(json_keys::kBackend, identity.backend);
  AddText(json_keys::kFile, identity.file);
  AddText(json_keys::kHash, identity.hash);
  AddText(json_keys::kArguments, identity.arguments);
  AddText(json_keys::kInputDims, identity.input_dims);
  AddText(json_keys::kInputTypes, identity.input_types);
}

void PerfettoTraceWriter::Op(const DeviceOp& op) {
  const Identity& identity = tables_.identity(op.identity);
  facts_.clear();
  AddNumber(json_keys::kStream, op.stream);
  AddText(json_keys::kFunction, identity.function);
  AddNumber(json_keys::kTreeNode, identity.tree_node);
  AddText(json_keys::kProgram, identity.program);
  AddText(json_keys::kShape, identity.shape);
  AddText(json_keys::kScope, identity.scope);
  if (op.graph != 0) AddNumber(json_keys::kGraph, op.graph);
  if (op.graph_node != 0) {
    facts_.push_back({.name = json_keys::kGraphNode, .number = op.graph_node});
  }
  if (op.external != 0) facts_.push_back({.name = json_keys::kExternal, .number = op.external});
  AddNumber(json_keys::kBytes, op.bytes);
  AddNumber(json_keys::kBytesRead, identity.bytes_read);
  AddNumber(json_keys::kBytesWritten, identity.bytes_written);
  if (!(identity.grid == Extent{})) {
    grid_ = TextOf(identity.grid);
    block_ = TextOf(identity.block);
    facts_.push_back(
        {.name = json_keys::kGrid, .kind = PerfettoFact::Kind::kJson, .json = grid_});
    facts_.push_back(
        {.name = json_keys::kBlock, .kind = PerfettoFact::Kind::kJson, .json = block_});
    AddNumber(json_keys::kSharedMemory, identity.shared_memory);
  }
  AddLaunchFacts(op.identity);
  AddExtras(op.extras);
  PerfettoSlice slice = {.track = OpTrack(op),
                         .start_ns = op.start_ns,
                         .duration_ns = op.duration_ns,
                         .category = json_keys::CategoryOf(op.kind),
                         .name = identity.name,
                         .correlation = op.correlation};
  if (op.correlation != 0 && IsWork(op.kind)) {
    if (started_.size() >= kMostStarted) started_.clear();
    if (started_.insert(op.correlation).second) slice.flow_to = op.correlation;
  }
  packets_.Slice(slice, facts_);
  last_ns_ = std::max(last_ns_, op.start_ns + op.duration_ns);
}

void PerfettoTraceWriter::Span(const HostSpan& span) {
  facts_.clear();
  if (json_keys::NeedsKind(span.kind)) {
    // Kinds have no text of the trace's.
    kind_ = absl::StrCat("\"", NameOf(span.kind), "\"");
    facts_.push_back(
        {.name = json_keys::kSpanKind, .kind = PerfettoFact::Kind::kJson, .json = kind_});
  }
  AddNumber(json_keys::kStream, span.stream);
  if (span.external != 0) facts_.push_back({.name = json_keys::kExternal, .number = span.external});
  if (span.identity != 0) {
    const TextId name = tables_.identity(span.identity).name;
    if (name != span.name) AddText(json_keys::kKernelName, name);
    AddLaunchFacts(span.identity);
  }
  AddExtras(span.extras);
  PerfettoSlice slice = {
      .track = ThreadTrack(span.process, span.thread),
      .start_ns = span.start_ns,
      .duration_ns = span.duration_ns,
      .category = json_keys::CategoryOf(span.kind, tables_.text(span.name)),
      .name = span.name,
      .correlation = span.correlation};
  if (span.kind == SpanKind::kLaunch) slice.flow_from = span.correlation;
  packets_.Slice(slice, facts_);
  last_ns_ = std::max(last_ns_, span.start_ns + span.duration_ns);
}

void PerfettoTraceWriter::Counter(const CounterSample& sample) {
  if (last_track_ >= kMostTracks && !counters_.contains({sample.name, sample.series})) return;
  uint64_t& track = counters_[{sample.name, sample.series}];
  if (track == 0) {
    const absl::string_view series = tables_.text(sample.series);
    track = NewTrack({.name = absl::StrCat(tables_.text(sample.name), series.empty() ? "" : " ",
                                           series),
                      .is_counter = true});
  }
  packets_.Counter(track, sample.time_ns, sample.value);
}

void PerfettoTraceWriter::Instant(const Mark& mark) {
  packets_.Instant(ThreadTrack(mark.process, mark.thread), mark.time_ns, mark.name);
}

// Streams are named by their ops, which come on devices and not in processes. A track that is there
// already is described again: PyTorch names threads at the end of its files.
void PerfettoTraceWriter::Lane(const LaneName& name) {
  if (names_.size() >= kMostTracks) return;
  names_[{name.process, name.thread}] = name.name;
  PerfettoTrack track = {.name = std::string(tables_.text(name.name)),
                         .process = name.process,
                         .thread = name.thread};
  if (name.thread == kUnknown) {
    const auto process = processes_.find(name.process);
    track.id = process == processes_.end() ? 0 : process->second;
  } else {
    const auto thread = threads_.find({name.process, name.thread});
    track.id = thread == threads_.end() ? 0 : thread->second;
  }
  if (track.id != 0 && track.id != about_track_) packets_.Track(track);
}

void PerfettoTraceWriter::End(const TraceNotes& notes) {
  const auto note = [this](absl::string_view text) {
    packets_.Note(about_track_, last_ns_, text);
  };
  if (notes.dropped_records != 0) {
    note(absl::StrCat(notes.dropped_records, " records were dropped"));
  }
  if (notes.unmatched_ops != 0) {
    note(absl::StrCat(notes.unmatched_ops, " ops are not told by name"));
  }
  if (notes.left_out != 0) note(absl::StrCat(notes.left_out, " events of the source left out"));
  if (!notes.cut.empty()) note(absl::StrCat("cut: ", notes.cut));
  if (notes.drift_ppm != 0) note(absl::StrCat("clock drift: ", notes.drift_ppm, " ppm"));
  for (const std::string& remark : notes.remarks) note(remark);
  packets_.Flush();
}

}  // namespace graphtree::trace
