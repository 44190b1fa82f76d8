// The same rows for scripts.
#include <string>

#include "device/base/json_writer.h"
#include "tools/profile/show_text.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

using trace::Distribution;
using trace::Identity;
using trace::TraceStatistics;

void WriteTimes(const char* key, const Distribution& times, JsonWriter& json) {
  if (times.count() == 0) return;
  json.Key(key).BeginObject().Key("count").Unsigned(times.count());
  json.Key("total").Number(times.sum()).Key("min").Integer(times.min());
  json.Key("mean").Number(times.mean()).Key("p50").Integer(times.median());
  json.Key("p99").Integer(times.Quantile(0.99)).Key("max").Integer(times.max()).EndObject();
}

void WriteText(const char* key, absl::string_view text, JsonWriter& json) {
  if (!text.empty()) json.Key(key).String(text);
}

void WriteIdentity(const TraceStatistics& statistics, const Identity& identity, JsonWriter& json) {
  const auto text = [&](trace::TextId id) { return statistics.tables().text(id); };
  json.Key("name").String(text(identity.name));
  WriteText("function", text(identity.function), json);
  if (identity.tree_node != trace::kUnknown) json.Key("tree_node").Integer(identity.tree_node);
  WriteText("program", text(identity.program), json);
  WriteText("shape", text(identity.shape), json);
  WriteText("scope", text(identity.scope), json);
  WriteText("backend", text(identity.backend), json);
  WriteText("file", text(identity.file), json);
  WriteText("input_dims", text(identity.input_dims), json);
}

void WriteReplays(const TraceStatistics& statistics, const ShowOptions& options,
                  JsonWriter& json) {
  json.Key("replays").BeginArray();
  size_t left = options.most_rows;
  for (const trace::ReplayRow* row : ShownReplays(statistics, options)) {
    if (left-- == 0) break;
    json.BeginObject().Key("name").String(ReplayName(statistics.tables(), *row));
    WriteText("function", statistics.tables().text(row->function), json);
    if (row->tree_node != trace::kUnknown) json.Key("tree_node").Integer(row->tree_node);
    if (row->graph != 0) json.Key("graph").Unsigned(row->graph);
    json.Key("ops").Unsigned(row->ops_of_first).Key("unmatched").Unsigned(row->unmatched);
    WriteTimes("wall", row->wall, json);
    WriteTimes("work", row->work, json);
    WriteTimes("gaps", row->gaps, json);
    WriteTimes("latency", row->latency, json);
    WriteTimes("waiting", row->waiting, json);
    WriteTimes("call", row->call, json);
    WriteTimes("idle", row->idle, json);
    json.Key("fused_saves").Number(row->gaps.sum()).EndObject();
  }
  json.EndArray();
}

void WriteOps(const TraceStatistics& statistics, const ShowOptions& options, JsonWriter& json) {
  json.Key("ops").BeginArray();
  size_t left = options.most_rows;
  for (const trace::OpRow* row : ShownOps(statistics, options)) {
    if (left-- == 0) break;
    json.BeginObject().Key("kind").String(NameOf(row->kind));
    WriteIdentity(statistics, statistics.tables().identity(row->identity), json);
    if (row->local_node != 0) json.Key("op_of_graph").Unsigned(row->local_node);
    if (row->bytes != 0) json.Key("bytes").Number(row->bytes);
    WriteTimes("duration", row->duration, json);
    WriteTimes("gap", row->gap, json);
    WriteTimes("launch_to_start", row->latency, json);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string ShowJson(const TraceStatistics& statistics, const ShowOptions& options) {
  JsonWriter json;
  json.BeginObject().Key("made_by").String(statistics.header().made_by);
  json.Key("first_ns").Integer(statistics.first_ns()).Key("last_ns").Integer(statistics.last_ns());
  json.Key("ops_recorded").Unsigned(statistics.op_count());
  json.Key("host_spans").Unsigned(statistics.span_count());
  json.Key("busy_ns").Number(statistics.busy_ns()).Key("warnings").BeginArray();
  for (const std::string& warning : Warnings(statistics)) json.String(warning);
  json.EndArray();
  WriteTimes("waiting_for_single_launches", statistics.waiting_alone(), json);
  WriteReplays(statistics, options, json);
  json.Key("functions").BeginArray();
  for (const FunctionSum& sum : FunctionSums(statistics)) {
    json.BeginObject().Key("name").String(statistics.tables().text(sum.function));
    WriteTimes("ops", sum.duration, json);
    WriteTimes("replays", sum.wall, json);
    json.EndObject();
  }
  json.EndArray();
  WriteOps(statistics, options, json);
  json.Key("host").BeginArray();
  for (const trace::SpanRow& row : statistics.spans()) {
    json.BeginObject().Key("name").String(statistics.tables().text(row.name));
    json.Key("kind").String(NameOf(row.kind));
    WriteTimes("duration", row.duration, json);
    json.EndObject();
  }
  return json.EndArray().EndObject().text();
}

}  // namespace graphtree::profile
