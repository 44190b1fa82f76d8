// Judges rows; lays out the table; writes the JSON.
#include "tools/benching/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/json_writer.h"
#include "tools/benching/goal.h"

namespace graphtree::bench {
namespace {

constexpr double kNoisy = 0.25;

std::string VerdictWord(const Result& result) {
  switch (result.verdict) {
    case Verdict::kMet:
      return "met";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kNoGoal:
      return "-";
    case Verdict::kSkipped:
      return "skipped";
    case Verdict::kFailed:
      return "FAILED";
  }
  return "";
}

std::string Ratio(const Result& result) {
  if (!result.ratio().has_value()) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", *result.ratio());
  return text;
}

using Cells = std::vector<std::string>;

Cells CellsOf(const Result& result) {
  const RowSpec& spec = result.spec;
  if (!result.reason.empty()) {
    return {spec.name,           "-",          "-", "-", spec.goal.empty() ? "-" : spec.goal,
            VerdictWord(result), result.reason};
  }
  const Measurement& numbers = result.measurement;
  std::string what = spec.ours;
  if (!spec.against.empty()) absl::StrAppend(&what, ", against ", spec.against);
  if (numbers.spread > kNoisy) {
    absl::StrAppend(&what, " (noisy: the middle half spreads over ",
                    std::lround(numbers.spread * 100), " %)");
  }
  return {spec.name,
          FormatValue(numbers.ours, spec.unit),
          numbers.baseline.has_value() ? FormatValue(*numbers.baseline, spec.unit) : "-",
          Ratio(result),
          spec.goal.empty() ? "-" : spec.goal,
          VerdictWord(result),
          what};
}

// Numbers line up at their right edge, words at their left; the last column is as wide as it is.
std::string Line(const Cells& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool last = i + 1 == cells.size();
    const std::string padding(last ? 0 : widths[i] - cells[i].size(), ' ');
    const bool number = i >= 1 && i <= 3;
    absl::StrAppend(&line, number ? padding : "", cells[i], number ? "" : padding,
                    last ? "\n" : "  ");
  }
  return line;
}

void WriteOptional(JsonWriter& json, const char* key, std::optional<double> value) {
  json.Key(key);
  value.has_value() ? json.Number(*value) : json.Null();
}

void WriteReason(JsonWriter& json, const char* key, bool applies, const std::string& reason) {
  json.Key(key);
  applies ? json.String(reason) : json.Null();
}

std::string RowJson(const Result& result) {
  const bool measured = result.reason.empty();
  JsonWriter json;
  json.BeginObject().Key("name").String(result.spec.name);
  json.Key("ours_is").String(result.spec.ours).Key("baseline_is").String(result.spec.against);
  json.Key("unit").String(result.spec.unit);
  WriteOptional(json, "ours",
                measured ? std::optional<double>(result.measurement.ours) : std::nullopt);
  WriteOptional(json, "baseline", result.measurement.baseline);
  WriteOptional(json, "ratio", result.ratio());
  WriteOptional(json, "difference", result.difference());
  WriteOptional(json, "spread",
                measured ? std::optional<double>(result.measurement.spread) : std::nullopt);
  json.Key("goal").String(result.spec.goal).Key("met");
  if (result.verdict == Verdict::kMet || result.verdict == Verdict::kMissed) {
    json.Bool(result.verdict == Verdict::kMet);
  } else {
    json.Null();
  }
  WriteReason(json, "skipped", result.verdict == Verdict::kSkipped, result.reason);
  WriteReason(json, "failed", result.verdict == Verdict::kFailed, result.reason);
  return json.EndObject().text();
}

}  // namespace

std::optional<double> Result::ratio() const {
  if (!measurement.baseline.has_value() || *measurement.baseline == 0) return std::nullopt;
  return measurement.ours / *measurement.baseline;
}

std::optional<double> Result::difference() const {
  if (!measurement.baseline.has_value()) return std::nullopt;
  return measurement.ours - *measurement.baseline;
}

Result RunRow(const Row& row) {
  Result result = {.spec = row.spec};
  const Outcome outcome = row.body();
  if (!outcome.skip_reason().empty()) {
    result.verdict = Verdict::kSkipped;
    result.reason = outcome.skip_reason();
    return result;
  }
  if (!outcome.measurement().has_value()) {
    result.reason = outcome.status().ok() ? "the row returned no numbers"
                                          : std::string(outcome.status().message());
    return result;
  }
  result.measurement = *outcome.measurement();
  if (result.measurement.baseline.has_value() == row.spec.against.empty()) {
    result.reason = "the row's body and its declaration disagree on a second number";
    return result;
  }
  if (row.spec.goal.empty()) {
    result.verdict = Verdict::kNoGoal;
    return result;
  }
  const Goal goal = Goal::Parse(row.spec.goal, row.spec.unit).value();
  const bool met = goal.Met(result.measurement.ours, result.measurement.baseline);
  result.verdict = met ? Verdict::kMet : Verdict::kMissed;
  return result;
}

std::string Table(const std::vector<Result>& results) {
  std::vector<Cells> lines = {{"row", "ours", "baseline", "ratio", "goal", "met", "what"}};
  for (const Result& result : results) lines.push_back(CellsOf(result));
  std::vector<size_t> widths(lines[0].size(), 0);
  for (const Cells& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const Cells& cells : lines) absl::StrAppend(&text, Line(cells, widths));
  return text;
}

std::string Json(const std::vector<Result>& results) {
  const auto append = [](std::string* out, const Result& result) {
    absl::StrAppend(out, RowJson(result));
  };
  return absl::StrCat("{\"rows\":[\n", absl::StrJoin(results, ",\n", append), "\n]}\n");
}

std::string Count(const std::vector<Result>& results) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(results.begin(), results.end(),
                         [&](const Result& result) { return result.verdict == verdict; });
  };
  return absl::StrCat(count(Verdict::kMet), " met, ", count(Verdict::kMissed), " missed, ",
                      count(Verdict::kNoGoal), " without goal, ", count(Verdict::kSkipped),
                      " skipped, ", count(Verdict::kFailed), " failed");
}

}  // namespace graphtree::bench
