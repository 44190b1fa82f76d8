// Puts the figures into words.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/serving.h"
#include "runtime/why.h"
#include "tools/cli/wrap.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/report.h"

namespace graphtree::demo {
namespace {

std::string Bytes(uint64_t bytes) {
  if (bytes < 10 << 10) return absl::StrFormat("%d B", bytes);
  if (bytes < 1 << 20) return absl::StrFormat("%d KiB", bytes >> 10);
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Time(double ns) {
  if (ns < 1e6) return absl::StrFormat("%.1f us", ns / 1e3);
  if (ns < 1e9) return absl::StrFormat("%.1f ms", ns / 1e6);
  return absl::StrFormat("%.1f s", ns / 1e9);
}

std::string Count(uint64_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string Paragraph(absl::string_view words, size_t indent) {
  return absl::StrCat(std::string(indent, ' '), cli::Wrap(words, indent, indent), "\n");
}

std::string Heading(const Comparison& comparison) {
  const auto sampled =
      std::count_if(comparison.requests.begin(), comparison.requests.end(),
                    [](const Request& request) { return request.temperature > 0; });
  const Day& day = comparison.days[kEager];
  std::string text = "A small server's day, served three ways, one after another.\n\n";
  absl::StrAppend(&text, Paragraph(absl::StrCat("Device: ", comparison.device.name, " (",
                                                comparison.device.model, ")."), 2));
  absl::StrAppend(
      &text,
      Paragraph(absl::StrFormat(
                    "Day: %s, %d of which draw their tokens at random; %s in %s, with at most %s "
                    "in a step.",
                    Count(comparison.requests.size(), "request"), sampled,
                    Count(day.generated, "token"), Count(day.steps.size(), "step"),
                    Count(comparison.most_requests, "request")),
                2));
  absl::StrAppend(
      &text,
      Paragraph(absl::StrFormat("Model: a transformer of %d layers, %s of weights, and a cache of "
                                "%d blocks of %d tokens, %s.",
                                kLayers, Bytes(comparison.weight_bytes), kBlocks, kBlockTokens,
                                Bytes(comparison.cache_bytes)),
                2));
  return absl::StrCat(text, "\n");
}

// One line of the table.
using Cell = std::function<std::string(const Day& day, const Figures& figures)>;
struct Row {
  const char* name;
  Cell cell;
};

const std::vector<Row>& Rows() {
  static const auto* const rows = new std::vector<Row>{
      {"tokens a second",
       [](const Day&, const Figures& f) { return absl::StrFormat("%.0f", f.tokens_per_second); }},
      {"host time a step", [](const Day&, const Figures& f) { return Time(f.host_ns); }},
      {"whole time a step", [](const Day&, const Figures& f) { return Time(f.whole_ns); }},
      {"submissions a step",
       [](const Day&, const Figures& f) { return absl::StrFormat("%.0f", f.submissions); }},
      {"slowest step", [](const Day&, const Figures& f) { return Time(f.slowest_ns); }},
      {"first token, cold",
       [](const Day& day, const Figures&) { return Time(day.first_token_ns); }},
      {"steps by a graph",
       [](const Day& day, const Figures& f) {
         return absl::StrFormat("%d of %d", f.replays, day.steps.size());
       }},
      {"rows of padding",
       [](const Day&, const Figures& f) { return absl::StrFormat("%.0f %%", 100 * f.padding); }},
      {"graphs", [](const Day& day, const Figures&) { return absl::StrCat(day.graphs.count); }},
      {"memory of graphs", [](const Day& day, const Figures&) { return Bytes(day.graphs.bytes); }},
  };
  return *rows;
}

std::string Table(const Comparison& comparison) {
  std::string text = absl::StrFormat("  %-20s", "");
  std::array<Figures, kWays> figures;
  for (int way = 0; way < kWays; ++way) {
    absl::StrAppendFormat(&text, " %16s", WayName(way));
    figures[way] = FiguresOf(comparison, way);
  }
  absl::StrAppend(&text, "\n");
  for (const Row& row : Rows()) {
    absl::StrAppendFormat(&text, "  %-20s", row.name);
    for (int way = 0; way < kWays; ++way) {
      absl::StrAppendFormat(&text, " %16s", row.cell(comparison.days[way], figures[way]));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string HowRecorded(const Comparison& comparison) {
  const ServingMode& mode = comparison.serving;
  if (!ServesGraphs(mode.serving)) {
    return absl::StrCat("It served in mode ", ToString(mode), ": every step ran eagerly.");
  }
  const char* const when =
      comparison.records_ahead  ? "All shapes were recorded before the first request."
      : comparison.records_idle ? "Shapes are recorded between steps."
      : comparison.records_while_serving
          ? "Shapes are recorded while serving, by the second step that needs them."
          : "No shape is recorded, as a setting says that steps record none.";
  const bool is_plain = mode.serving == Serving::kReplay && mode.parity_every == 0;
  if (is_plain) return when;
  return absl::StrCat(when, " It served in mode ", ToString(mode), ".");
}

std::string Legend(const Comparison& comparison) {
  std::string text = "\n";
  const auto say = [&](const char* name, absl::string_view words) {
    absl::StrAppendFormat(&text, "  %-14s%s\n", name, cli::Wrap(words, 16, 16));
  };
  say("eager", "one copy brings a step's inputs in; every kernel is launched by itself.");
  say("engine's way",
      "each input is copied and filled by itself, then come a kernel that prepares, a graph of the "
      "layers for the padded size, and four kernels that pick tokens. All graphs are captured "
      "before the first request.");
  say("graphtree", absl::StrCat("the runtime: inputs, preparation, layers and picking are one "
                                "launch. ",
                                HowRecorded(comparison)));
  say("times",
      "medians over the steps that graphtree replayed. Host time is what the calling thread pays "
      "to submit a step. The cold first token counts from the start, and includes what is "
      "recorded then.");
  if (comparison.device.name == "host") {
    say("host device",
        "its kernels run on this processor, in the thread that waits: tokens a second are those "
        "of the kernels, whichever way they are launched.");
  }
  return text;
}

// "4.2 times less than", as far as it is.
std::string LessThan(double ours, double theirs) {
  if (ours <= 0 || theirs <= 0) return "nothing to hold against";
  if (theirs / ours >= 1.05) return absl::StrFormat("%.1f times less than", theirs / ours);
  if (ours / theirs >= 1.05) return absl::StrFormat("%.1f times more than", ours / theirs);
  return "as much as";
}

std::string RatioText(const Comparison& comparison) {
  const double ours = FiguresOf(comparison, kGraphtree).host_ns;
  std::string text = "Host time of a step on graphtree:";
  for (int way : {kEager, kEngine}) {
    absl::StrAppend(&text, way == kEager ? " " : ", ",
                    LessThan(ours, FiguresOf(comparison, way).host_ns), " ",
                    way == kEager ? "eager" : "the engine's way");
  }
  return Paragraph(absl::StrCat(text, "."), 2);
}

std::string TokensText(const Comparison& comparison) {
  if (comparison.tokens_are_equal()) {
    return absl::StrCat("\n  Tokens: ", comparison.days[kEager].generated,
                        ", equal in all three ways.\n");
  }
  std::string text = "\n";
  for (int way : {kEngine, kGraphtree}) {
    const std::optional<Difference>& difference = comparison.differences[way];
    if (!difference) continue;
    absl::StrAppendFormat(&text, "  Tokens: DIFFERENT, %s from step %d on", WayName(way),
                          difference->step);
    if (difference->request >= 0) {
      absl::StrAppendFormat(&text, ":\n  request %d got token %d, and %d from eager",
                            difference->request, difference->token, difference->eager_token);
    }
    absl::StrAppend(&text, ".\n");
  }
  return text;
}

// A description without the reason's name and sentence, which stand above it already.
absl::string_view WithoutReason(absl::string_view description, Why why) {
  absl::ConsumeSuffix(&description, WhySentence(why));
  absl::ConsumePrefix(&description, WhyName(why));
  const auto is_between = [](char c) { return absl::StrContains(" ,:;.", c); };
  while (!description.empty() && is_between(description.front())) description.remove_prefix(1);
  while (!description.empty() && is_between(description.back())) description.remove_suffix(1);
  return description;
}

std::string ReasonText(const Reasons& reasons, const Day& day) {
  std::string text = absl::StrFormat("\n  %6d  ", reasons.steps.size());
  const std::string words =
      absl::StrCat(WhyName(reasons.why), ": ", WhySentence(reasons.why), ".");
  absl::StrAppend(&text, cli::Wrap(words, 10, 10), "\n");
  const size_t first = reasons.steps.front();
  const StepRecord& step = day.steps[first];
  const bool is_one = reasons.steps.size() == 1;
  if (!is_one) {
    absl::StrAppend(&text, Paragraph(absl::StrCat("Steps ", Ranges(reasons.steps), "."), 10));
  }
  absl::StrAppend(&text, Paragraph(absl::StrCat(is_one ? "Step " : "For example step ", first,
                                                ", ", step.is_prefill ? "prefill" : "decode", ": ",
                                                WithoutReason(step.description, reasons.why), "."),
                                   10));
  return text;
}

// "half of all after 9 steps", if that part of the shapes was ever ready.
std::optional<std::string> ReadyAfter(const std::vector<double>& ready, const char* name,
                                      double part) {
  for (size_t i = 0; i < ready.size(); ++i) {
    if (ready[i] >= part) return absl::StrCat(name, " after ", Count(i + 1, "step"));
  }
  return std::nullopt;
}

std::string ReadyText(const Comparison& comparison, const std::vector<double>& ready) {
  if (comparison.records_ahead || ready.empty()) return "";
  std::string words =
      absl::StrFormat("Of the shapes %.0f %% had their graphs in the end", 100 * ready.back());
  std::vector<std::string> parts;
  for (const auto& [name, part] : {std::pair("half of all", 0.5), std::pair("all", 1.0)}) {
    std::optional<std::string> after = ReadyAfter(ready, name, part);
    if (after.has_value()) parts.push_back(*std::move(after));
  }
  if (!parts.empty()) absl::StrAppend(&words, ": ", absl::StrJoin(parts, ", "));
  return words + ".";
}

std::string RecordedText(const Comparison& comparison) {
  if (!comparison.recorded.has_value()) return "";
  const Recorded& recorded = *comparison.recorded;
  std::string words = ReadyText(comparison, recorded.ready);
  if (recorded.estimate.is_known) {
    const Guess told = recorded.estimate.device();
    absl::StrAppendFormat(&words,
                          "%sAfter %s graphtree told that all would take %s, give or take %s; the "
                          "device has given %s.",
                          words.empty() ? "" : " ",
                          Count(recorded.estimate.learned_from, "recording"),
                          Bytes(static_cast<uint64_t>(told.bytes)),
                          Bytes(static_cast<uint64_t>(told.error)), Bytes(recorded.device_bytes));
  }
  return words.empty() ? "" : absl::StrCat("\n", Paragraph(words, 2));
}

std::string ReasonsText(const Comparison& comparison) {
  const Day& day = comparison.days[kGraphtree];
  const size_t replays = FiguresOf(comparison, kGraphtree).replays;
  const size_t others = day.steps.size() - replays;
  const WhyCounts& why = comparison.runtime.why;
  std::string text = "\n";
  absl::StrAppend(
      &text, Paragraph(absl::StrFormat(
                           "graphtree replayed %d of %s: %d with a shape of exactly their size, %d "
                           "with a larger one. %s",
                           replays, Count(day.steps.size(), "step"),
                           why[static_cast<size_t>(Why::kHit)],
                           why[static_cast<size_t>(Why::kCover)],
                           others == 0 ? "No step ran otherwise."
                                       : absl::StrFormat("The other %d, and why:", others)),
                       2));
  for (const Reasons& reasons : ReasonsOf(day)) absl::StrAppend(&text, ReasonText(reasons, day));
  return text;
}

std::string LadderText(const Comparison& comparison) {
  std::array<std::vector<Key>, 2> shapes;
  for (const Rung& rung : comparison.ladder) shapes[rung.is_prefill].push_back(rung.key);
  std::string text = "\n";
  absl::StrAppend(&text,
                  Paragraph(absl::StrFormat("Shapes under a budget of %s for graphs, as tokens by "
                                            "the longest context:",
                                            Bytes(comparison.budget_bytes)),
                            2));
  for (bool is_prefill : {false, true}) {
    std::vector<Key>& keys = shapes[is_prefill];
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return std::pair(a.context, a.tokens) < std::pair(b.context, b.tokens);
    });
    const std::string list =
        keys.empty() ? "none"
                     : absl::StrJoin(keys, ", ", [](std::string* out, const Key& key) {
                         absl::StrAppend(out, key.tokens, "x", key.context);
                       });
    absl::StrAppendFormat(&text, "    %-9s%s\n", is_prefill ? "prefill" : "decode",
                          cli::Wrap(list, 13, 13));
  }
  const RuntimeStats& stats = comparison.runtime;
  absl::StrAppend(
      &text,
      Paragraph(absl::StrFormat("Besides its graphs, graphtree holds %s in its pool for what they "
                                "compute, %s of slots and %s of page-locked memory.",
                                Bytes(comparison.tree.pool_reserved_bytes),
                                Bytes(stats.slot_bytes), Bytes(stats.staging_bytes)),
                2));
  return text;
}

}  // namespace

std::string Ranges(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    absl::StrAppend(&text, i > 0 ? ", " : "", numbers[i]);
    if (last > i) absl::StrAppend(&text, "-", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string ReportText(const Comparison& comparison) {
  return absl::StrCat(Heading(comparison), Table(comparison), TokensText(comparison),
                      RatioText(comparison), Legend(comparison), LadderText(comparison),
                      RecordedText(comparison), ReasonsText(comparison),
                      AdviceText(comparison.explanation));
}

}  // namespace graphtree::demo
