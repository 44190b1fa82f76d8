// Writes everything that the text says as JSON, and each step that was no replay.
#include <cstdint>
#include <optional>
#include <string>

#include "device/base/json_writer.h"
#include "graphs/reports/outline.h"
#include "runtime/why.h"
#include "tools/demo_model/report.h"

namespace graphtree::demo {
namespace {

// Names without blanks and apostrophes.
constexpr const char* kKeys[kWays] = {"eager", "engine", "graphtree"};

void WriteDay(const Comparison& comparison, JsonWriter& json) {
  int64_t sampled = 0;
  for (const Request& request : comparison.requests) sampled += request.temperature > 0;
  json.Key("day").BeginObject();
  json.Key("requests").Unsigned(comparison.requests.size());
  json.Key("sampled_requests").Integer(sampled);
  json.Key("most_requests_in_a_step").Integer(comparison.most_requests);
  json.Key("steps").Unsigned(comparison.days[kEager].steps.size());
  json.Key("tokens").Integer(comparison.days[kEager].generated).EndObject();
  json.Key("weight_bytes").Unsigned(comparison.weight_bytes);
  json.Key("cache_bytes").Unsigned(comparison.cache_bytes);
}

void WriteLadder(const Comparison& comparison, JsonWriter& json) {
  json.Key("budget_bytes").Unsigned(comparison.budget_bytes);
  json.Key("mode").String(ToString(comparison.serving));
  json.Key("records_ahead").Bool(comparison.records_ahead);
  if (comparison.recorded.has_value()) {
    json.Key("ready_ratio").BeginArray();
    for (const double ready : comparison.recorded->ready) json.Number(ready);
    json.EndArray();
    const Guess told = comparison.recorded->estimate.device();
    json.Key("estimated_bytes").Number(told.bytes);
    json.Key("estimate_error_bytes").Number(told.error);
    json.Key("device_bytes").Unsigned(comparison.recorded->device_bytes);
  }
  json.Key("shapes").BeginArray();
  for (const Rung& rung : comparison.ladder) {
    json.BeginObject().Key("program").String(rung.is_prefill ? "prefill" : "decode");
    json.Key("tokens").Integer(rung.key.tokens).Key("requests").Integer(rung.key.requests);
    json.Key("context").Integer(rung.key.context).EndObject();
  }
  json.EndArray();
}

void WriteWay(const Comparison& comparison, int way, JsonWriter& json) {
  const Day& day = comparison.days[way];
  const Figures figures = FiguresOf(comparison, way);
  json.BeginObject().Key("tokens_per_second").Number(figures.tokens_per_second);
  json.Key("host_ns_per_step").Number(figures.host_ns);
  json.Key("whole_ns_per_step").Number(figures.whole_ns);
  json.Key("slowest_step_ns").Number(figures.slowest_ns);
  json.Key("submissions_per_step").Number(figures.submissions);
  json.Key("start_ns").Number(day.start_ns);
  json.Key("first_token_cold_ns").Number(day.first_token_ns);
  json.Key("serving_ns").Number(day.serving_ns);
  json.Key("steps_by_graph").Unsigned(figures.replays);
  json.Key("padded_rows_share").Number(figures.padding);
  json.Key("graphs").Unsigned(day.graphs.count);
  json.Key("graph_bytes").Unsigned(day.graphs.bytes).EndObject();
}

void WriteDifferences(const Comparison& comparison, JsonWriter& json) {
  json.Key("tokens_equal").Bool(comparison.tokens_are_equal());
  json.Key("differences").BeginArray();
  for (int way : {kEngine, kGraphtree}) {
    const std::optional<Difference>& difference = comparison.differences[way];
    if (!difference) continue;
    json.BeginObject().Key("way").String(kKeys[way]).Key("step").Unsigned(difference->step);
    if (difference->request >= 0) {
      json.Key("request").Integer(difference->request);
      json.Key("token").Integer(difference->token);
      json.Key("eager_token").Integer(difference->eager_token);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteReasons(const Comparison& comparison, JsonWriter& json) {
  const Day& day = comparison.days[kGraphtree];
  json.Key("hits").Unsigned(comparison.runtime.why[static_cast<size_t>(Why::kHit)]);
  json.Key("covers").Unsigned(comparison.runtime.why[static_cast<size_t>(Why::kCover)]);
  json.Key("not_replayed").BeginArray();
  for (const Reasons& reasons : ReasonsOf(day)) {
    json.BeginObject().Key("why").String(WhyName(reasons.why));
    json.Key("sentence").String(WhySentence(reasons.why));
    json.Key("count").Unsigned(reasons.steps.size()).Key("steps").BeginArray();
    for (size_t number : reasons.steps) {
      const StepRecord& step = day.steps[number];
      json.BeginObject().Key("step").Unsigned(number);
      json.Key("program").String(step.is_prefill ? "prefill" : "decode");
      json.Key("tokens").Integer(step.tokens).Key("requests").Integer(step.requests);
      json.Key("context").Integer(step.context);
      json.Key("description").String(step.description).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

void WriteRuntime(const Comparison& comparison, JsonWriter& json) {
  json.Key("runtime").BeginObject();
  json.Key("steps").Unsigned(comparison.runtime.steps);
  json.Key("recordings").Unsigned(comparison.runtime.recordings);
  json.Key("staging_waits").Unsigned(comparison.runtime.staging_waits);
  json.Key("slot_bytes").Unsigned(comparison.runtime.slot_bytes);
  json.Key("staging_bytes").Unsigned(comparison.runtime.staging_bytes);
  json.Key("executables").Unsigned(comparison.tree.executables);
  json.Key("executable_bytes").Unsigned(comparison.tree.executable_bytes);
  json.Key("instantiated_again").Unsigned(comparison.tree.instantiated_again);
  json.Key("pool_reserved_bytes").Unsigned(comparison.tree.pool_reserved_bytes);
  json.Key("recorded").BeginArray();
  for (const OutlineNode& node : comparison.outline) {
    json.BeginObject().Key("shape").String(node.function);
    json.Key("replays").Unsigned(node.replays).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

std::string ReportJson(const Comparison& comparison) {
  JsonWriter json;
  json.BeginObject().Key("device").String(comparison.device.name);
  json.Key("model").String(comparison.device.model);
  WriteDay(comparison, json);
  WriteLadder(comparison, json);
  json.Key("ways").BeginObject();
  for (int way = 0; way < kWays; ++way) {
    json.Key(kKeys[way]);
    WriteWay(comparison, way, json);
  }
  json.EndObject();
  WriteDifferences(comparison, json);
  WriteReasons(comparison, json);
  WriteRuntime(comparison, json);
  return json.EndObject().text() + "\n";
}

}  // namespace graphtree::demo
