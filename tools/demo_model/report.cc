// Puts the figures into words and into JSON.
#include "tools/demo_model/report.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/json_writer.h"
#include "graphs/outline.h"
#include "graphs/reason.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

std::string Bytes(uint64_t bytes) {
  if (bytes < 10 << 10) return absl::StrFormat("%d B", bytes);
  if (bytes < 10 << 20) return absl::StrFormat("%d KiB", bytes >> 10);
  return absl::StrFormat("%d MiB", bytes >> 20);
}

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string Heading(const Comparison& comparison) {
  return absl::StrFormat(
      "A transformer of %d layers decodes for %d requests on %s (%s): %d tokens in %d steps.\n",
      kLayers, comparison.requests, comparison.device.name, comparison.device.model,
      comparison.eager.generated, comparison.eager.steps.size());
}

std::string FiguresText(const Comparison& comparison, const Summary& summary) {
  const Figures& eager = summary.eager;
  const Figures& tree = summary.tree;
  std::string text = absl::StrFormat("\n  %-24s %12s %12s\n", "", "eager", "tree");
  absl::StrAppendFormat(&text, "  %-24s %12.0f %12.0f %9.1fx fewer\n", "launches per step",
                        eager.launches, tree.launches,
                        tree.launches > 0 ? eager.launches / tree.launches : 0);
  absl::StrAppendFormat(&text, "  %-24s %9.1f us %9.1f us %9.1fx less\n", "host time per step",
                        eager.host_ns / 1000, tree.host_ns / 1000, summary.host_ratio());
  absl::StrAppendFormat(
      &text, "  %-24s %12.0f %12.0f %9.1fx more\n", "tokens per second", eager.tokens_per_second,
      tree.tokens_per_second,
      eager.tokens_per_second > 0 ? tree.tokens_per_second / eager.tokens_per_second : 0);
  absl::StrAppendFormat(&text,
                        "  Medians over the %d steps that were replayed whole; the other %d took "
                        "%.1f ms of host time.\n",
                        summary.replayed_steps,
                        comparison.tree.steps.size() - summary.replayed_steps,
                        summary.other_host_ns / 1e6);
  return text;
}

std::string TokensText(const Comparison& comparison) {
  if (!comparison.first_difference.has_value()) {
    return absl::StrFormat("\n  Tokens: equal in all %d steps.\n", comparison.eager.steps.size());
  }
  return absl::StrFormat("\n  Tokens: DIFFERENT from step %d on.\n", *comparison.first_difference);
}

std::string CallsText(const TreeStats& stats) {
  std::string text = absl::StrFormat(
      "\n  Calls: %d, replayed %d (%.1f %%), warmed up %d, recorded %d, eager %d.\n", stats.calls,
      stats.replays, Percent(static_cast<double>(stats.replays), static_cast<double>(stats.calls)),
      stats.warm_ups, stats.recordings, stats.eager);
  for (size_t i = 0; i < kReasonCount; ++i) {
    if (stats.reasons[i] == 0) continue;
    const Reason reason = static_cast<Reason>(i);
    absl::StrAppendFormat(&text, "    %6d %s: %s\n", stats.reasons[i], ReasonName(reason),
                          ReasonSentence(reason));
  }
  return text;
}

std::string BytesText(const Comparison& comparison) {
  const TreeStats& stats = comparison.stats;
  return absl::StrFormat("  Bytes: pool %s mapped, %s live; executables %s; model and caches %s.\n",
                         Bytes(stats.pool_reserved_bytes), Bytes(stats.pool_live_bytes),
                         Bytes(stats.executable_bytes), Bytes(comparison.model_bytes));
}

std::string TreeText(const Outline& outline) {
  std::string text = absl::StrFormat("\n  The tree (%d recordings):\n", outline.size());
  const std::string drawing = DrawOutline(outline);
  for (size_t begin = 0; begin < drawing.size();) {
    const size_t end = drawing.find('\n', begin);
    absl::StrAppend(&text, "    ", drawing.substr(begin, end - begin + 1));
    begin = end + 1;
  }
  return text;
}

void WriteFigures(const char* key, const Figures& figures, JsonWriter& json) {
  json.Key(key).BeginObject().Key("launches_per_step").Number(figures.launches);
  json.Key("host_ns_per_step").Number(figures.host_ns);
  json.Key("tokens_per_second").Number(figures.tokens_per_second).EndObject();
}

void WriteStats(const TreeStats& stats, JsonWriter& json) {
  json.Key("calls").BeginObject().Key("all").Unsigned(stats.calls);
  json.Key("replayed").Unsigned(stats.replays).Key("warmed_up").Unsigned(stats.warm_ups);
  json.Key("recorded").Unsigned(stats.recordings).Key("eager").Unsigned(stats.eager);
  json.Key("reasons").BeginObject();
  for (size_t i = 0; i < kReasonCount; ++i) {
    if (stats.reasons[i] == 0) continue;
    json.Key(ReasonName(static_cast<Reason>(i))).Unsigned(stats.reasons[i]);
  }
  json.EndObject().EndObject();
  json.Key("bytes").BeginObject().Key("pool_mapped").Unsigned(stats.pool_reserved_bytes);
  json.Key("pool_live").Unsigned(stats.pool_live_bytes);
  json.Key("executables").Unsigned(stats.executable_bytes).EndObject();
}

void WriteOutline(const Outline& outline, JsonWriter& json) {
  json.Key("tree").BeginArray();
  for (const OutlineNode& node : outline) {
    json.BeginObject().Key("id").Unsigned(node.id).Key("parent");
    node.parent < 0 ? json.Null() : json.Unsigned(outline[node.parent].id);
    json.Key("function").String(node.function).Key("inputs").String(node.inputs);
    json.Key("replays").Unsigned(node.replays).Key("ops").Unsigned(node.ops);
    json.Key("copied_inputs").Unsigned(node.copied_inputs);
    json.Key("executable_bytes").Unsigned(node.executable_bytes).EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string ReportText(const Comparison& comparison) {
  const Summary summary = Summarise(comparison);
  return absl::StrCat(Heading(comparison), FiguresText(comparison, summary),
                      TokensText(comparison), CallsText(comparison.stats), BytesText(comparison),
                      TreeText(comparison.outline));
}

std::string ReportJson(const Comparison& comparison) {
  const Summary summary = Summarise(comparison);
  JsonWriter json;
  json.BeginObject().Key("device").String(comparison.device.name);
  json.Key("model").String(comparison.device.model);
  json.Key("requests").Integer(comparison.requests);
  json.Key("steps").Unsigned(comparison.eager.steps.size());
  json.Key("replayed_steps").Unsigned(summary.replayed_steps);
  json.Key("tokens").Integer(comparison.eager.generated);
  json.Key("tokens_equal").Bool(!comparison.first_difference.has_value());
  WriteFigures("eager", summary.eager, json);
  WriteFigures("tree_figures", summary.tree, json);
  json.Key("host_time_ratio").Number(summary.host_ratio());
  json.Key("recording_host_ns").Number(summary.other_host_ns);
  json.Key("model_bytes").Unsigned(comparison.model_bytes);
  WriteStats(comparison.stats, json);
  WriteOutline(comparison.outline, json);
  return json.EndObject().text() + "\n";
}

}  // namespace graphtree::demo
