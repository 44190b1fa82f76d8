// Writes what an explanation has, field by field.
#include "runtime/watch_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "device/base/one_line.h"

namespace graphtree {
namespace {

void WriteTimes(const ExplainedTimes& times, JsonWriter& json) {
  json.BeginObject();
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].timed == 0) continue;
    json.Key(RouteName(static_cast<CallRoute>(i))).BeginObject();
    json.Key("timed").Unsigned(times[i].timed).Key("ns").Unsigned(times[i].ns).EndObject();
  }
  json.EndObject();
}

void WriteFindings(const ExplainedShape& shape, JsonWriter& json) {
  const ShadowEstimate& shadow = shape.shadow;
  if (shadow.steps > 0) {
    json.Key("shadow").BeginObject().Key("steps").Unsigned(shadow.steps);
    json.Key("eager_us").Number(shadow.eager_us).Key("replay_us").Number(shadow.replay_us);
    json.Key("ops").Unsigned(shadow.ops).Key("executable_bytes").Unsigned(shadow.executable_bytes);
    json.Key("pool_bytes").Unsigned(shadow.pool_bytes).EndObject();
  }
  const ExplainedParity& parity = shape.parity;
  if (parity.same + parity.differs == 0) return;
  json.Key("parity").BeginObject().Key("same").Unsigned(parity.same);
  json.Key("differs").Unsigned(parity.differs).Key("op").String(parity.last_op);
  json.Key("text").String(parity.last_text).EndObject();
}

void WriteShape(const ExplainedShape& shape, JsonWriter& json) {
  json.BeginObject().Key("key").String(ToString(shape.key));
  json.Key("mode").String(ModeName(shape.mode)).Key("recorded").Bool(shape.is_recorded);
  json.Key("usable").String(WhyName(shape.usable)).Key("why");
  WriteWhys(shape.why, json);
  json.Key("times");
  WriteTimes(shape.times, json);
  WriteFindings(shape, json);
  json.EndObject();
}

void WriteStep(const ExplainedStep& step, JsonWriter& json) {
  json.BeginObject().Key("device").Unsigned(step.device).Key("lane").Unsigned(step.lane);
  json.Key("number").Unsigned(step.number).Key("at_ns").Integer(step.at_ns);
  json.Key("program").String(step.program).Key("key").String(ToString(step.key));
  json.Key("route").String(RouteName(step.route)).Key("why").String(WhyName(step.why));
  json.Key("reason");
  step.reason.has_value() ? json.String(ReasonName(*step.reason)) : json.Null();
  json.Key("shape");
  step.shape.has_value() ? json.String(ToString(*step.shape)) : json.Null();
  json.Key("ran_ns").Unsigned(step.ran_ns).Key("sentence").String(step.sentence).EndObject();
}

void WriteCounts(const CallCounts& counts, JsonWriter& json) {
  json.Key("replays").Unsigned(counts.replays).Key("recordings").Unsigned(counts.recordings);
  json.Key("warm_ups").Unsigned(counts.warm_ups).Key("eager").Unsigned(counts.eager);
  json.Key("reasons").BeginObject();
  for (size_t i = 0; i < kReasonCount; ++i) {
    if (counts.reasons[i] == 0) continue;
    json.Key(ReasonName(static_cast<Reason>(i))).Unsigned(counts.reasons[i]);
  }
  json.EndObject();
}

void WriteTree(const ExplainedTree& tree, JsonWriter& json) {
  json.BeginObject().Key("device").Unsigned(tree.device).Key("lane").Unsigned(tree.lane);
  json.Key("functions").BeginArray();
  for (const FunctionStats& function : tree.functions) {
    json.BeginObject().Key("name").String(function.name).Key("shapes").Unsigned(function.shapes);
    WriteCounts(function.counts, json);
    json.EndObject();
  }
  json.EndArray().Key("edges").BeginArray();
  for (const EdgeStats& edge : tree.edges) {
    json.BeginObject().Key("from").String(edge.from).Key("to").String(edge.to);
    WriteCounts(edge.counts, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

// Text for a label in quotes. In a label "\n" breaks the line, so one in a name is escaped.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(OneLine(text), {{"\\", "\\\\"}, {"\"", "\\\""}});
}

uint64_t StepsOf(const ExplainedShape& shape) {
  uint64_t steps = 0;
  for (const uint64_t count : shape.why) steps += count;
  return steps;
}

void DrawProgram(const ExplainedProgram& program, size_t number, std::string* text) {
  absl::StrAppendFormat(text, "    p%d [shape=box, label=\"%s\\n%d steps, %d replayed\"];\n",
                        number, Escaped(program.name), program.steps, program.replays);
  for (size_t i = 0; i < program.shapes.size(); ++i) {
    const ExplainedShape& shape = program.shapes[i];
    const char* const state = shape.usable != Why::kHit ? WhyName(shape.usable)
                              : shape.is_recorded       ? "recorded"
                                                        : "not recorded";
    absl::StrAppendFormat(text, "    p%ds%d [label=\"%s\\n%s, %d steps\"%s];\n", number, i,
                          ToString(shape.key), state, StepsOf(shape),
                          shape.is_recorded ? "" : ", style=dashed");
    absl::StrAppendFormat(text, "    p%d -> p%ds%d;\n", number, number, i);
  }
}

}  // namespace

void WriteWhys(const WhyCounts& counts, JsonWriter& json) {
  json.BeginObject();
  for (size_t i = 0; i < kWhyCount; ++i) {
    if (counts[i] > 0) json.Key(WhyName(static_cast<Why>(i))).Unsigned(counts[i]);
  }
  json.EndObject();
}

void WriteProgram(const ExplainedProgram& program, JsonWriter& json) {
  json.BeginObject().Key("name").String(program.name);
  json.Key("device").Unsigned(program.device).Key("lane").Unsigned(program.lane);
  json.Key("steps").Unsigned(program.steps).Key("replays").Unsigned(program.replays);
  json.Key("parked_by").BeginArray();
  for (const std::string& tag : program.parked_by) json.String(tag);
  json.EndArray().Key("shapes").BeginArray();
  for (const ExplainedShape& shape : program.shapes) WriteShape(shape, json);
  json.EndArray().Key("eager_times");
  WriteTimes(program.eager_times, json);
  json.Key("not_replayed").BeginArray();
  for (const ExplainedReason& reason : program.reasons) {
    json.BeginObject().Key("why").String(WhyName(reason.why)).Key("steps").Unsigned(reason.steps);
    json.Key("advice").String(reason.advice).EndObject();
  }
  json.EndArray().EndObject();
}

std::string ExplanationAsJson(const Explanation& explanation) {
  JsonWriter json;
  json.BeginObject().Key("programs").BeginArray();
  for (const ExplainedProgram& program : explanation.programs) WriteProgram(program, json);
  json.EndArray().Key("steps").BeginArray();
  for (const ExplainedStep& step : explanation.steps) WriteStep(step, json);
  json.EndArray().Key("trees").BeginArray();
  for (const ExplainedTree& tree : explanation.trees) WriteTree(tree, json);
  json.EndArray().Key("warnings").BeginArray();
  for (const std::string& warning : explanation.warnings) json.String(warning);
  json.EndArray().EndObject();
  return json.text();
}

std::string ExplanationAsGraphviz(const Explanation& explanation) {
  std::string text = "digraph runtime {\n  rankdir=LR;\n";
  for (size_t i = 0; i < explanation.programs.size(); ++i) {
    const ExplainedProgram& program = explanation.programs[i];
    absl::StrAppendFormat(&text, "  subgraph cluster_p%d {\n    label=\"device %d lane %d\";\n", i,
                          program.device, program.lane);
    DrawProgram(program, i, &text);
    absl::StrAppend(&text, "  }\n");
  }
  absl::StrAppend(&text, "}\n");
  return text;
}

}  // namespace graphtree
