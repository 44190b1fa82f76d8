// Puts the figures into words and into JSON.
#include "tools/demo_model/report.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/json_writer.h"
#include "graphs/outline.h"
#include "graphs/reason.h"
#include "graphs/tree.h"
#include "tools/cli/wrap.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {
namespace {

std::string Bytes(uint64_t bytes) {
  if (bytes < 10 << 10) return absl::StrFormat("%d B", bytes);
  if (bytes < 10 << 20) return absl::StrFormat("%d KiB", bytes >> 10);
  return absl::StrFormat("%d MiB", bytes >> 20);
}

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string Count(uint64_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// Two lines: the name of a device may be long.
std::string Heading(const Comparison& comparison) {
  return absl::StrFormat("A transformer of %d layers decodes for %s: %s in %s,\non %s (%s).\n",
                         kLayers, Count(comparison.requests, "request"),
                         Count(comparison.eager.generated, "token"),
                         Count(comparison.eager.steps.size(), "step"), comparison.device.name,
                         comparison.device.model);
}

// "3.5x less"; without the word where it is none, and nothing where there is nothing to compare.
std::string Ratio(double more, double less, const char* word) {
  if (more <= 0 || less <= 0) return "";
  const std::string ratio = absl::StrFormat(" %9.1fx", more / less);
  return more / less >= 1.05 ? absl::StrCat(ratio, " ", word) : ratio;
}

std::string FiguresText(const Comparison& comparison, const Summary& summary) {
  const Figures& eager = summary.eager;
  const Figures& tree = summary.tree;
  if (summary.replayed_steps == 0) {
    return absl::StrFormat(
        "\n  No step was replayed whole, so there is nothing to compare; they took\n"
        "  %.1f ms of host time.\n",
        summary.other_host_ns / 1e6);
  }
  std::string text = absl::StrFormat("\n  %-24s %12s %12s\n", "", "eager", "tree");
  absl::StrAppendFormat(&text, "  %-24s %12.0f %12.0f%s\n", "launches per step", eager.launches,
                        tree.launches, Ratio(eager.launches, tree.launches, "fewer"));
  absl::StrAppendFormat(&text, "  %-24s %9.1f us %9.1f us%s\n", "host time per step",
                        eager.host_ns / 1000, tree.host_ns / 1000,
                        Ratio(eager.host_ns, tree.host_ns, "less"));
  absl::StrAppendFormat(&text, "  %-24s %12.0f %12.0f%s\n", "tokens per second",
                        eager.tokens_per_second, tree.tokens_per_second,
                        Ratio(tree.tokens_per_second, eager.tokens_per_second, "more"));
  absl::StrAppendFormat(
      &text, "  Medians over %s replayed whole; the other %d took %.1f ms of host time.\n",
      Count(summary.replayed_steps, "step"),
      comparison.tree.steps.size() - summary.replayed_steps, summary.other_host_ns / 1e6);
  return text;
}

std::string TokensText(const Comparison& comparison) {
  if (!comparison.first_difference.has_value()) {
    return absl::StrFormat("\n  Tokens: equal in all %d steps.\n", comparison.eager.steps.size());
  }
  return absl::StrFormat("\n  Tokens: DIFFERENT from step %d on.\n", *comparison.first_difference);
}

// Why calls were not replayed. Two causes come with every function and count no reason.
struct Cause {
  uint64_t count;
  const char* name;
  const char* sentence;
};

std::vector<Cause> CausesOf(const TreeStats& stats) {
  std::vector<Cause> causes = {
      {stats.warm_ups, "warm_up", "a function's first call with such inputs runs eagerly"},
      {stats.recordings, "recording", "nothing recorded matched the call: it was recorded"}};
  for (size_t i = 0; i < kReasonCount; ++i) {
    const Reason reason = static_cast<Reason>(i);
    causes.push_back({stats.reasons[i], ReasonName(reason), ReasonSentence(reason)});
  }
  causes.erase(std::remove_if(causes.begin(), causes.end(),
                              [](const Cause& cause) { return cause.count == 0; }),
               causes.end());
  return causes;
}

std::string CallsText(const TreeStats& stats) {
  std::string text = absl::StrFormat(
      "\n  Calls: %d, replayed %d (%.1f %%), warmed up %d, recorded %d, eager %d.\n", stats.calls,
      stats.replays, Percent(static_cast<double>(stats.replays), static_cast<double>(stats.calls)),
      stats.warm_ups, stats.recordings, stats.eager);
  for (const Cause& cause : CausesOf(stats)) {
    const std::string words = absl::StrCat(cause.name, ": ", cause.sentence);
    absl::StrAppendFormat(&text, "    %6d %s\n", cause.count, cli::Wrap(words, 11, 11));
  }
  return text;
}

std::string BytesText(const Comparison& comparison) {
  const TreeStats& stats = comparison.stats;
  return absl::StrCat(
      "  ",
      cli::Wrap(absl::StrFormat(
                    "Bytes: pool %s mapped, %s live; executables %s; model %s.",
                    Bytes(stats.pool_reserved_bytes), Bytes(stats.pool_live_bytes),
                    Bytes(stats.executable_bytes), Bytes(comparison.model_bytes)),
                2, 4),
      "\n");
}

// Without the static inputs: each function has one set of weights here, so their addresses tell
// nothing, and the lines are short enough for a terminal.
std::string TreeText(Outline outline) {
  for (OutlineNode& node : outline) node.static_inputs.clear();
  std::string text = absl::StrFormat("\n  The tree (%s):\n", Count(outline.size(), "recording"));
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
  for (const Cause& cause : CausesOf(stats)) json.Key(cause.name).Unsigned(cause.count);
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
