// Rows of the statistics, put together and written.
#include "profiler/stats/figures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "device/base/json_writer.h"
#include "profiler/stats/distribution.h"
#include "profiler/stats/time_text.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {
namespace {

struct LevelName {
  FigureLevel level;
  const char* name;
};
constexpr LevelName kLevels[] = {
    {FigureLevel::kFunction, "function"}, {FigureLevel::kNode, "node"}, {FigureLevel::kOp, "op"}};

// What rows of one level and one name share.
struct Sum {
  Distribution duration = {}, gap = {}, latency = {};
  double bytes = 0;
};

FigureRow RowOf(const Sum& sum, uint64_t limit) {
  FigureRow row;
  row.count = sum.duration.count();
  row.min_ns = static_cast<double>(sum.duration.min());
  row.mean_ns = sum.duration.mean();
  row.p50_ns = static_cast<double>(sum.duration.median());
  row.p99_ns = static_cast<double>(sum.duration.Quantile(0.99));
  row.sum_ns = sum.duration.sum();
  row.gap_ns = sum.gap.mean();
  row.latency_ns = sum.latency.mean();
  if (row.sum_ns > 0) row.bytes_per_second = sum.bytes / row.sum_ns * 1e9;
  if (limit > 0) row.share_of_limit = row.bytes_per_second / static_cast<double>(limit);
  return row;
}

std::string TextOf(const TraceStatistics& statistics, TextId id) {
  return std::string(statistics.tables().text(id));
}

void SetPlace(const TraceStatistics& statistics, const Identity& identity, FigureRow* row) {
  row->function = TextOf(statistics, identity.function);
  row->program = TextOf(statistics, identity.program);
  row->shape = TextOf(statistics, identity.shape);
  row->tree_node = identity.tree_node;
}

// The bytes that the ops of a function, or of one of its nodes, move.
using BytesOf = std::map<std::pair<TextId, int64_t>, double>;

void AddReplays(const TraceStatistics& statistics, const BytesOf& bytes, uint64_t limit,
                std::vector<FigureRow>* rows) {
  std::map<TextId, Sum> functions;
  for (const ReplayRow& replay : statistics.replays()) {
    if (replay.function == 0) continue;
    Sum of_node{replay.wall, replay.gaps, replay.latency, 0};
    const auto moved = bytes.find({replay.function, replay.tree_node});
    if (moved != bytes.end()) of_node.bytes = moved->second;
    FigureRow row = RowOf(of_node, limit);
    row.level = FigureLevel::kNode;
    SetPlace(statistics, statistics.tables().identity(replay.first_op), &row);
    row.function = TextOf(statistics, replay.function);
    row.tree_node = replay.tree_node;
    rows->push_back(std::move(row));
    Sum& sum = functions[replay.function];
    sum.duration.Merge(replay.wall);
    sum.gap.Merge(replay.gaps);
    sum.latency.Merge(replay.latency);
    sum.bytes += of_node.bytes;
  }
  for (const auto& [function, sum] : functions) {
    FigureRow row = RowOf(sum, limit);
    row.level = FigureLevel::kFunction;
    row.function = TextOf(statistics, function);
    rows->push_back(std::move(row));
  }
}

std::string PlaceOf(const FigureRow& row) {
  std::string place = row.function.empty() ? std::string() : row.function;
  if (row.tree_node >= 0) {
    absl::StrAppend(&place, place.empty() ? "" : ", ", "node ", row.tree_node);
  }
  if (row.op.empty()) return place;
  return place.empty() ? row.op : absl::StrCat(row.op, " of ", place);
}

std::string LineOf(const FigureRow& row) {
  const std::string rate =
      row.bytes_per_second <= 0 ? "" : absl::StrFormat("%.1f GB/s", row.bytes_per_second / 1e9);
  const std::string share =
      row.share_of_limit <= 0 ? "" : absl::StrFormat("%.0f %%", 100 * row.share_of_limit);
  const std::string latency = row.latency_ns > 0 ? TimeText(row.latency_ns) : "";
  return absl::StrFormat("%9d %9s %9s %9s %9s %9s %9s %12s %6s  %s\n", row.count,
                         TimeText(row.min_ns), TimeText(row.mean_ns), TimeText(row.p50_ns),
                         TimeText(row.p99_ns), TimeText(row.gap_ns), latency, rate, share,
                         PlaceOf(row));
}

}  // namespace

const char* NameOf(FigureLevel level) {
  for (const LevelName& known : kLevels) {
    if (known.level == level) return known.name;
  }
  return "?";
}

std::vector<FigureRow> FiguresOf(const TraceStatistics& statistics, uint64_t limit) {
  std::vector<FigureRow> rows;
  BytesOf bytes;
  for (const OpRow& op : statistics.ops()) {
    const Identity& identity = statistics.tables().identity(op.identity);
    bytes[{identity.function, identity.tree_node}] += op.bytes;
    FigureRow row = RowOf({op.duration, op.gap, op.latency, op.bytes}, limit);
    row.level = FigureLevel::kOp;
    SetPlace(statistics, identity, &row);
    row.op = TextOf(statistics, identity.name);
    rows.push_back(std::move(row));
  }
  AddReplays(statistics, bytes, limit, &rows);
  std::stable_sort(rows.begin(), rows.end(), [](const FigureRow& a, const FigureRow& b) {
    return a.level != b.level ? a.level < b.level : a.sum_ns > b.sum_ns;
  });
  return rows;
}

std::string FiguresText(const std::vector<FigureRow>& rows, size_t most_rows) {
  std::string text;
  for (const LevelName& level : kLevels) {
    size_t of_level = 0;
    for (const FigureRow& row : rows) {
      if (row.level != level.level || ++of_level > most_rows) continue;
      if (of_level == 1) {
        absl::StrAppendFormat(&text, "%s%9s %9s %9s %9s %9s %9s %9s %12s %6s  %s\n",
                              text.empty() ? "" : "\n", "count", "min", "mean", "p50", "p99", "gap",
                              "launch", "bytes", "limit", level.name);
      }
      text += LineOf(row);
    }
    if (of_level > most_rows) {
      absl::StrAppend(&text, "          ... and ", of_level - most_rows, " more\n");
    }
  }
  return text;
}

std::string FiguresJson(const std::vector<FigureRow>& rows) {
  JsonWriter json;
  json.BeginArray();
  for (const FigureRow& row : rows) {
    json.BeginObject().Key("level").String(NameOf(row.level));
    json.Key("function").String(row.function).Key("op").String(row.op);
    json.Key("program").String(row.program).Key("shape").String(row.shape);
    json.Key("tree_node").Integer(row.tree_node).Key("count").Unsigned(row.count);
    json.Key("min_ns").Number(row.min_ns).Key("mean_ns").Number(row.mean_ns);
    json.Key("p50_ns").Number(row.p50_ns).Key("p99_ns").Number(row.p99_ns);
    json.Key("sum_ns").Number(row.sum_ns).Key("gap_ns").Number(row.gap_ns);
    json.Key("latency_ns").Number(row.latency_ns);
    json.Key("bytes_per_second").Number(row.bytes_per_second);
    json.Key("share_of_limit").Number(row.share_of_limit).EndObject();
  }
  return json.EndArray().text();
}

}  // namespace graphtree::trace
