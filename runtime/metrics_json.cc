// The same figures as the struct's, by name.
#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "graphs/reason.h"
#include "runtime/metrics.h"
#include "runtime/metrics_parking.h"
#include "runtime/watch_json.h"

namespace graphtree {
namespace {

void WriteTree(const LaneMetrics& lane, JsonWriter& json) {
  json.Key("graphs").Unsigned(lane.tree.nodes).Key("executables").Unsigned(lane.tree.executables);
  json.Key("executable_bytes").Unsigned(lane.tree.executable_bytes);
  json.Key("pool").BeginObject().Key("live_bytes").Unsigned(lane.pool.live_bytes);
  json.Key("mapped_bytes").Unsigned(lane.pool.mapped_bytes);
  json.Key("parked_bytes").Unsigned(lane.pool.parked_bytes);
  json.Key("pinned_bytes").Unsigned(lane.pool.pinned_bytes).EndObject();
  const auto write_times = [&json](const char* key, const DurationCounts& times) {
    json.Key(key).BeginObject().Key("count").Unsigned(times.count());
    json.Key("ns").Unsigned(times.total_ns).EndObject();
  };
  write_times("captures", lane.tree.captures);
  write_times("instantiations", lane.tree.instantiations);
  write_times("updates", lane.tree.updates);
  json.Key("reasons").BeginObject();
  for (size_t i = 0; i < kReasonCount; ++i) {
    if (lane.tree.reasons[i] == 0) continue;
    json.Key(ReasonName(static_cast<Reason>(i))).Unsigned(lane.tree.reasons[i]);
  }
  json.EndObject();
}

void WriteLane(const LaneMetrics& lane, JsonWriter& json) {
  json.BeginObject().Key("device").Unsigned(lane.device).Key("lane").Unsigned(lane.lane);
  json.Key("now");
  lane.now.has_value() ? json.String(ToString(*lane.now)) : json.Null();
  json.Key("steps").Unsigned(lane.steps).Key("recordings").Unsigned(lane.recordings);
  json.Key("failed_recordings").Unsigned(lane.failed_recordings);
  json.Key("failed_for_commit").Unsigned(lane.failed_for_commit);
  json.Key("padded_tokens").Unsigned(lane.padded_tokens);
  json.Key("staged_bytes").Unsigned(lane.staged_bytes);
  json.Key("parked_refused").Unsigned(lane.parked_refused);
  json.Key("lent_bytes").Unsigned(lane.lent_bytes);
  json.Key("parity").BeginObject().Key("same").Unsigned(lane.parity_same);
  json.Key("differs").Unsigned(lane.parity_differs);
  json.Key("skipped").Unsigned(lane.parity_skipped).EndObject().Key("refused");
  WriteWhys(lane.refused, json);
  json.Key("routes").BeginObject();
  for (size_t i = 0; i < lane.dispatches.size(); ++i) {
    json.Key(RouteName(static_cast<CallRoute>(i))).BeginObject().Key("why");
    WriteWhys(lane.dispatches[i], json);
    json.Key("timed").Unsigned(lane.times[i].count());
    json.Key("ns").Unsigned(lane.times[i].total_ns).EndObject();
  }
  json.EndObject();
  WriteTree(lane, json);
  json.EndObject();
}

}  // namespace

std::string ToString(const LaneNow& now) {
  return absl::StrCat(now.records ? "records " : "runs ", now.program,
                      now.shape.has_value() ? absl::StrCat(", ", ToString(*now.shape)) : "");
}

std::string MetricsAsJson(const Metrics& metrics) {
  JsonWriter json;
  json.BeginObject().Key("serving").String(ServingName(metrics.serving));
  json.Key("ready_ratio").Number(metrics.ready_ratio());
  json.Key("touches").Unsigned(metrics.touches);
  json.Key("workspace_moves").Unsigned(metrics.workspace_moves);
  json.Key("stale_recordings").Unsigned(metrics.stale_recordings);
  json.Key("workspace_bytes").Unsigned(metrics.workspace_bytes);
  json.Key("pool_budget_bytes").Unsigned(metrics.pool_budget_bytes);
  json.Key("executable_budget_bytes").Unsigned(metrics.executable_budget_bytes);
  json.Key("lanes").BeginArray();
  for (const LaneMetrics& lane : metrics.lanes) WriteLane(lane, json);
  json.EndArray().Key("programs").BeginArray();
  for (const ProgramMetrics& program : metrics.programs) {
    json.BeginObject().Key("slot_bytes").Unsigned(program.slot_bytes);
    json.Key("staging_bytes").Unsigned(program.staging_bytes);
    json.Key("staging_waits").Unsigned(program.staging_waits);
    json.Key("staging_told").Unsigned(program.staging_told).Key("counts");
    WriteProgram(program.counts, json);
    json.EndObject();
  }
  json.EndArray().Key("tags");
  WriteTags(metrics, json);
  return json.EndObject().text();
}

}  // namespace graphtree
