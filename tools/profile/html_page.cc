// Puts the page together.
#include "tools/profile/html_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "device/base/json_writer.h"
#include "device/base/version.h"
#include "profiler/trace/records.h"
#include "tools/profile/page/parts.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

using trace::OpRow;
using trace::TraceStatistics;

constexpr size_t kMostOps = 500;  // of the table of all ops

void WriteTimes(const std::vector<int64_t>& times, JsonWriter& json) {
  json.BeginArray();
  for (int64_t time : times) json.Integer(time);
  json.EndArray();
}

void WriteKind(const TraceStatistics& statistics, const ReplayKind& kind, JsonWriter& json) {
  json.BeginObject().Key("name").String(kind.name).Key("count").Unsigned(kind.count);
  json.Key("ops").BeginArray();
  for (const StackedOp& op : kind.ops) {
    OpRow row;
    row.identity = op.identity;
    row.local_node = op.local_node;
    json.BeginObject().Key("name").String(OpName(statistics.tables(), op.identity));
    json.Key("place").String(OpPlace(statistics.tables(), row));
    json.Key("stream").Unsigned(op.stream).EndObject();
  }
  json.EndArray().Key("replays").BeginArray();
  for (const StackedReplay& replay : kind.replays) {
    json.BeginObject().Key("number").Unsigned(replay.number);
    json.Key("at").Integer(replay.first_ns - statistics.first_ns());
    json.Key("wall").Integer(replay.wall_ns);
    if (replay.latency_ns != trace::kUnknown) json.Key("latency").Integer(replay.latency_ns);
    json.Key("starts");
    WriteTimes(replay.starts, json);
    json.Key("durations");
    WriteTimes(replay.durations, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void WriteOps(const TraceStatistics& statistics, JsonWriter& json) {
  std::vector<const OpRow*> rows;
  for (const OpRow& row : statistics.ops()) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const OpRow* a, const OpRow* b) {
    return a->duration.sum() > b->duration.sum();
  });
  if (rows.size() > kMostOps) rows.resize(kMostOps);
  json.Key("ops").BeginArray();
  for (const OpRow* row : rows) {
    json.BeginObject().Key("name").String(OpName(statistics.tables(), row->identity));
    json.Key("place").String(OpPlace(statistics.tables(), *row));
    json.Key("count").Unsigned(row->duration.count()).Key("total").Number(row->duration.sum());
    json.Key("spread").BeginArray();
    for (double share : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
      json.Integer(row->duration.Quantile(share));
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string RenderHtmlData(const std::string& name, const TraceStatistics& statistics,
                           const std::vector<ReplayKind>& kinds,
                           const std::vector<std::string>& warnings) {
  JsonWriter json;
  json.BeginObject().Key("version").Integer(1).Key("file").String(name);
  json.Key("made_by").String(absl::StrCat("graphtree ", kVersion));
  json.Key("span").Integer(statistics.last_ns() - statistics.first_ns());
  json.Key("busy").Number(statistics.busy_ns());
  json.Key("op_count").Unsigned(statistics.op_count());
  json.Key("warnings").BeginArray();
  for (const std::string& warning : warnings) json.String(warning);
  json.EndArray().Key("kinds").BeginArray();
  for (const ReplayKind& kind : kinds) WriteKind(statistics, kind, json);
  json.EndArray();
  WriteOps(statistics, json);
  return json.EndObject().text();
}

std::string RenderHtml(const std::string& name, const TraceStatistics& statistics,
                       const std::vector<ReplayKind>& kinds,
                       const std::vector<std::string>& warnings) {
  // Inside a script element only "</script" and "<!--" mean anything: no "<" is left in the JSON.
  const std::string data = absl::StrReplaceAll(
      RenderHtmlData(name, statistics, kinds, warnings), {{"<", "\\u003c"}});
  const std::string title =
      absl::StrReplaceAll(name, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
  return absl::StrReplaceAll(Parts().html, {{"@TITLE@", title},
                                            {"@STYLE@", Parts().style},
                                            {"@DATA@", data},
                                            {"@SCRIPT@", Parts().script}});
}

}  // namespace graphtree::profile
