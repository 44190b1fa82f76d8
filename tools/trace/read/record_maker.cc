// The meaning of categories, phases and arguments.
#include "tools/trace/read/record_maker.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "profiler/trace/json_keys.h"
#include "tools/trace/read/json_cursor.h"

namespace graphtree::trace {
namespace {

constexpr size_t kMostFacts = 1 << 20;

std::optional<OpKind> OpKindOf(absl::string_view category) {
  for (const json_keys::OpCategory& known : json_keys::kOpCategories) {
    if (known.name == category) return known.kind;
  }
  return std::nullopt;
}

SpanKind SpanKindOf(absl::string_view category, absl::string_view name, absl::string_view ours) {
  if (!ours.empty()) {
    for (SpanKind kind : {SpanKind::kMatch, SpanKind::kPatch, SpanKind::kRecord, SpanKind::kRestore,
                          SpanKind::kEvict, SpanKind::kPark, SpanKind::kPlan, SpanKind::kStage,
                          SpanKind::kRequest}) {
      if (ours == NameOf(kind)) return kind;
    }
  }
  if (category == "cuda_runtime" || category == "cuda_driver") {
    return json_keys::IsLaunchName(name) ? SpanKind::kLaunch : SpanKind::kApiCall;
  }
  if (category == "user_annotation") return SpanKind::kScope;
  if (category == "python_function") return SpanKind::kPython;
  if (category == "overhead") return SpanKind::kOverhead;
  return SpanKind::kOther;
}

// "[8, 4, 1]"
Extent ExtentOf(absl::string_view json) {
  Extent extent;
  uint32_t* const parts[] = {&extent.x, &extent.y, &extent.z};
  JsonCursor cursor(json.data(), json.data() + json.size());
  if (json.empty() || !cursor.Expect('[', "")) return extent;
  bool is_first = true;
  bool at_end = false;
  absl::string_view word;
  for (uint32_t* part : parts) {
    if (!cursor.NextItem(is_first, at_end) || at_end || !cursor.Word(word)) break;
    const int64_t value = IntegerOf(word);
    *part = static_cast<uint32_t>(
        std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
  }
  return extent;
}

int64_t KnownOr(absl::string_view word) { return word.empty() ? kUnknown : IntegerOf(word); }

uint32_t Unsigned32Of(absl::string_view word) { return static_cast<uint32_t>(UnsignedOf(word)); }

// Of a process or thread, which PyTorch also gives as texts ("Spans").
int64_t LaneOf(absl::string_view raw) {
  return raw.empty() || raw[0] == '"' ? kUnknown : IntegerOf(raw);
}

}  // namespace

TextId RecordMaker::TextOf(const JsonText& text) {
  if (!text.is_escaped) return tables_.Text(text.raw);
  scratch_ = Unescaped(text.raw);
  return tables_.Text(scratch_);
}

TextId RecordMaker::TextOf(const JsonText& text, Memo& memo) {
  if (text.is_escaped) return TextOf(text);
  if (text.raw != memo.text) {
    memo.id = tables_.Text(text.raw);
    memo.text = memo.id == 0 ? absl::string_view() : tables_.text(memo.id);
  }
  return memo.id;
}

TextId RecordMaker::JsonOf(absl::string_view raw, Memo& memo) {
  if (raw == memo.text) return memo.id;
  scratch_.clear();
  AppendClean(raw, scratch_);
  return TextOf({scratch_}, memo);
}

int64_t RecordMaker::TimeOf(absl::string_view microseconds) const {
  return base_ns_ + NanosecondsOf(microseconds);
}

Identity RecordMaker::LaunchFactsOf(const RawEvent& event) {
  Identity identity;
  identity.backend = TextOf(event.backend, backend_);
  identity.file = TextOf(event.file, file_);
  identity.hash = TextOf(event.hash, hash_);
  identity.arguments = TextOf(event.arguments, arguments_);
  identity.input_dims = JsonOf(event.input_dims, input_dims_);
  identity.input_types = JsonOf(event.input_types, input_types_);
  return identity;
}

Identity RecordMaker::IdentityOf(const RawEvent& event) {
  Identity identity = LaunchFactsOf(event);
  identity.name = TextOf(event.name);
  identity.function = TextOf(event.function, function_);
  identity.program = TextOf(event.program, program_);
  identity.shape = TextOf(event.shape, shape_);
  identity.scope = TextOf(event.scope, scope_);
  identity.tree_node = KnownOr(event.tree_node);
  identity.bytes_read = KnownOr(event.bytes_read);
  identity.bytes_written = KnownOr(event.bytes_written);
  identity.shared_memory = Unsigned32Of(event.shared_memory);
  identity.grid = ExtentOf(event.grid);
  identity.block = ExtentOf(event.block);
  return identity;
}

void RecordMaker::Remember(FactsMap& map, uint64_t key, const Facts& facts) {
  if (key == 0) return;
  if (map.size() >= kMostFacts && !map.contains(key)) {
    ++forgotten_;
    return;
  }
  map[key] = facts;
}

void RecordMaker::Join(const DeviceOp& op, Identity& identity) const {
  const auto fill = [&identity](const Identity& from) {
    identity.backend = from.backend;
    identity.file = from.file;
    identity.hash = from.hash;
    identity.arguments = from.arguments;
    identity.input_dims = from.input_dims;
    identity.input_types = from.input_types;
  };
  const auto launch = by_correlation_.find(op.correlation);
  if (op.correlation != 0 && launch != by_correlation_.end()) {
    fill(tables_.identity(launch->second.identity));
    return;
  }
  const auto host_op = by_external_.find(op.external);
  if (op.external == 0 || host_op == by_external_.end()) return;
  fill(tables_.identity(host_op->second.identity));
  if (identity.scope == 0 && host_op->second.host_op != identity.name) {
    identity.scope = host_op->second.host_op;
  }
}

void RecordMaker::TakeOp(const RawEvent& event, OpKind kind) {
  DeviceOp op;
  op.kind = kind;
  op.start_ns = TimeOf(event.time);
  op.duration_ns = std::max<int64_t>(0, NanosecondsOf(event.duration));
  op.correlation = UnsignedOf(event.correlation);
  op.external = UnsignedOf(event.external);
  op.device = static_cast<int32_t>(event.device.empty() ? LaneOf(event.process)
                                                        : IntegerOf(event.device));
  op.stream = event.stream.empty() ? static_cast<uint32_t>(LaneOf(event.thread))
                                   : Unsigned32Of(event.stream);
  op.context = Unsigned32Of(event.context);
  op.bytes = KnownOr(event.bytes);
  op.graph = Unsigned32Of(event.graph);
  op.graph_node = UnsignedOf(event.graph_node);
  // Some write the low half alone.
  const bool is_packed = (op.graph_node >> kNodeBits) != 0;
  if (op.graph_node != 0 && !is_packed) {
    op.graph_node = PackedNode(op.graph, LocalNode(op.graph_node));
  }
  if (op.graph == 0) op.graph = static_cast<uint32_t>(op.graph_node >> kNodeBits);
  Identity identity = IdentityOf(event);
  if (!event.has_launch_facts) Join(op, identity);
  op.identity = tables_.Intern(identity);
  op.extras = event.extras;
  listener_.Op(op);
}

void RecordMaker::TakeSpan(const RawEvent& event) {
  HostSpan span;
  span.start_ns = TimeOf(event.time);
  span.duration_ns = std::max<int64_t>(0, NanosecondsOf(event.duration));
  span.correlation = UnsignedOf(event.correlation);
  span.external = UnsignedOf(event.external);
  span.process = LaneOf(event.process);
  span.thread = LaneOf(event.thread);
  span.name = TextOf(event.name);
  const absl::string_view name = tables_.text(span.name);
  span.kind = SpanKindOf(event.category.raw, name, event.span_kind.raw);
  span.is_graph = span.kind == SpanKind::kLaunch && json_keys::IsGraphLaunchName(name);
  span.stream = KnownOr(event.stream);
  if (event.has_launch_facts) {
    Identity identity = LaunchFactsOf(event);
    identity.name = event.kernel_name.raw.empty() ? span.name : TextOf(event.kernel_name);
    span.identity = tables_.Intern(identity);
    Remember(by_correlation_, span.correlation, {span.identity, span.name});
    // An annotation around many ops is none of them.
    if (span.kind == SpanKind::kOther) {
      Remember(by_external_, span.external, {span.identity, span.name});
    }
  }
  span.extras = event.extras;
  listener_.Span(span);
}

void RecordMaker::TakeComplete(const RawEvent& event) {
  if (event.category.raw == "Trace") return;  // how long PyTorch's profiler was on
  if (event.time.empty()) {
    ++left_out_;
    return;
  }
  const std::optional<OpKind> kind = OpKindOf(event.category.raw);
  if (kind.has_value()) {
    TakeOp(event, *kind);
  } else {
    TakeSpan(event);
  }
}

void RecordMaker::TakeCounter(const RawEvent& event) {
  if (event.series.empty()) ++left_out_;
  for (const auto& [key, word] : event.series) {
    listener_.Counter({.time_ns = TimeOf(event.time),
                       .name = TextOf(event.name),
                       .series = tables_.Text(Unescaped(key)),
                       .value = DoubleOf(word),
                       .process = LaneOf(event.process)});
  }
}

// Sort indexes and labels are a viewer's business: the writers make their own.
void RecordMaker::TakeMetadata(const RawEvent& event) {
  const absl::string_view kind = event.name.raw;
  if (kind != "process_name" && kind != "thread_name") return;
  const int64_t process = LaneOf(event.process);
  if (process == kUnknown) return;
  listener_.Lane({.process = process,
                  .thread = kind == "process_name" ? kUnknown : LaneOf(event.thread),
                  .name = TextOf(event.lane_name)});
}

void RecordMaker::TakeArrow(const RawEvent& event) {
  // The correlation of a launch and its ops says the same.
  if (event.category.raw == json_keys::kFlow) return;
  const bool has_number = !event.id.empty() && event.id[0] != '"';
  if (!has_number || event.time.empty()) {
    ++left_out_;
    return;
  }
  const absl::string_view phase = event.phase.raw;
  listener_.Arrow({.time_ns = TimeOf(event.time),
                   .id = UnsignedOf(event.id),
                   .process = LaneOf(event.process),
                   .thread = LaneOf(event.thread),
                   .category = TextOf(event.category),
                   .name = TextOf(event.name),
                   .phase = phase == "s"   ? ArrowEnd::Phase::kBegin
                            : phase == "t" ? ArrowEnd::Phase::kStep
                                           : ArrowEnd::Phase::kEnd,
                   .is_of_enclosing = event.binding == "\"e\""});
}

void RecordMaker::Take(const RawEvent& event) {
  const absl::string_view phase = event.phase.raw;
  if (phase == "X") {
    TakeComplete(event);
  } else if (phase == "M") {
    TakeMetadata(event);
  } else if (phase == "C") {
    TakeCounter(event);
  } else if (phase == "i" || phase == "I" || phase == "R") {
    listener_.Instant({.time_ns = TimeOf(event.time),
                       .name = TextOf(event.name),
                       .process = LaneOf(event.process),
                       .thread = LaneOf(event.thread)});
  } else if (phase == "s" || phase == "f" || phase == "t") {
    TakeArrow(event);
  } else {
    ++left_out_;
  }
}

}  // namespace graphtree::trace
