// Stats as one JSON object. Fields may be added; the ones that are here keep name and meaning.
#include "tools/memory/stats_json.h"

#include <map>

#include "device/base/json_writer.h"
#include "tools/memory/history_text.h"

namespace graphtree::memory {
namespace {

using snapshot::DeviceHistory;
using snapshot::SideStats;
using snapshot::Snapshot;
using snapshot::Totals;

void WriteCounts(const std::map<std::string, uint64_t>& counts, JsonWriter& json) {
  json.BeginObject();
  for (const auto& [name, count] : counts) json.Key(name).Unsigned(count);
  json.EndObject();
}

void WriteTotals(const Totals& totals, JsonWriter& json) {
  json.Key("segments").Unsigned(totals.segments).Key("blocks").Unsigned(totals.blocks);
  json.Key("reserved_bytes").Unsigned(totals.reserved);
  json.Key("allocated_bytes").Unsigned(totals.allocated);
  json.Key("active_bytes").Unsigned(totals.active);
  json.Key("requested_bytes").Unsigned(totals.requested);
  json.Key("free_bytes").Unsigned(totals.free());
  json.Key("largest_free_bytes").Unsigned(totals.largest_free);
  json.Key("releasable_bytes").Unsigned(totals.releasable);
}

void WriteFragmentation(const Totals& totals, JsonWriter& json) {
  const snapshot::Fragmentation scattered = snapshot::FragmentationOf(totals);
  json.BeginObject();
  json.Key("largest_hole").Number(scattered.largest_hole);
  json.Key("squares").Number(scattered.squares);
  json.Key("rounding").Number(scattered.rounding);
  json.Key("stranded").Number(scattered.stranded);
  json.EndObject();
}

void WriteGroups(const SideStats& stats, JsonWriter& json) {
  json.Key("pools").BeginArray();
  for (const auto& [key, totals] : stats.pools) {
    json.BeginObject().Key("pool").BeginArray();
    json.Unsigned(key.second.first).Unsigned(key.second.second).EndArray();
    json.Key("device").Integer(key.first);
    WriteTotals(totals, json);
    json.EndObject();
  }
  json.EndArray().Key("devices").BeginArray();
  for (const auto& [device, totals] : stats.devices) {
    json.BeginObject().Key("device").Integer(device);
    WriteTotals(totals, json);
    json.EndObject();
  }
  json.EndArray().Key("streams").BeginArray();
  for (const auto& [key, totals] : stats.streams) {
    json.BeginObject().Key("stream").Raw(key.second).Key("device").Integer(key.first);
    WriteTotals(totals, json);
    json.EndObject();
  }
  json.EndArray().Key("segment_types").BeginArray();
  for (const auto& [type, totals] : stats.segment_types) {
    json.BeginObject().Key("segment_type").String(type);
    WriteTotals(totals, json);
    json.EndObject();
  }
  json.EndArray();
}

void WritePeak(const Snapshot& snapshot, const DeviceHistory& history, const snapshot::Peak& peak,
               JsonWriter& json) {
  json.BeginObject().Key("bytes").Unsigned(peak.bytes).Key("entry");
  if (peak.event == snapshot::kNever) {
    json.Null().Key("time_us").Null();
  } else {
    json.Unsigned(peak.event).Key("time_us");
    json.Integer(history.Entry(snapshot, peak.event).time_us);
  }
  json.EndObject();
}

void WriteSide(const Snapshot& snapshot, const SideStats& stats, JsonWriter& json) {
  WriteTotals(stats.all, json);
  json.Key("trace_entries").Unsigned(stats.trace_entries);
  json.Key("states");
  WriteCounts(stats.states, json);
  json.Key("actions");
  WriteCounts(stats.actions, json);
  json.Key("fragmentation");
  WriteFragmentation(stats.all, json);
  json.Key("histories").BeginArray();
  for (const DeviceHistory& history : stats.histories) {
    json.BeginObject().Key("device").Integer(history.device);
    json.Key("entries").Unsigned(history.rows.size());
    json.Key("peak_requested");
    WritePeak(snapshot, history, history.allocated_peak, json);
    json.Key("peak_reserved");
    WritePeak(snapshot, history, history.reserved_peak, json);
    WriteLosses(history, json);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

bool HasHost(const SideStats& host) { return host.all.segments != 0 || host.trace_entries != 0; }

std::string StatsJson(const Snapshot& snapshot, const SideStats& gpu, const SideStats& host) {
  JsonWriter json;
  json.BeginObject();
  WriteSide(snapshot, gpu, json);
  WriteGroups(gpu, json);
  if (HasHost(host)) {
    json.Key("host").BeginObject();
    WriteSide(snapshot, host, json);
    json.EndObject();
  }
  json.EndObject();
  return json.text();
}

}  // namespace graphtree::memory
