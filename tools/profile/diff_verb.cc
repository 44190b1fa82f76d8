// Reads two traces and says which op became slower.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/json_writer.h"
#include "profiler/stats/distribution.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/tables.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/text.h"
#include "tools/profile/compare.h"
#include "tools/profile/load.h"
#include "tools/profile/verbs.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

using memory::Count;
using memory::Look;
using memory::Table;
using memory::Tone;

// "3.10 us (2.98 to 3.55 us)": the median and the middle four fifths.
std::string SpreadText(const Sample& sample) {
  const trace::Distribution& times = sample.times;
  if (times.count() == 0) return "";
  return absl::StrCat(TimeText(static_cast<double>(times.median())), " (",
                      TimeText(static_cast<double>(times.Quantile(0.1))), " to ",
                      TimeText(static_cast<double>(times.Quantile(0.9))), ")");
}

Tone ToneOf(Verdict verdict) {
  if (verdict == Verdict::kSlower) return Tone::kBad;
  return verdict == Verdict::kFaster ? Tone::kGood : Tone::kPlain;
}

bool IsShown(const Compared& compared, bool all) {
  return all || (compared.verdict != Verdict::kSame && compared.verdict != Verdict::kTooFew);
}

std::string TableText(const std::string& title, const std::vector<Compared>& rows, bool all,
                      size_t limit, const Look& look) {
  Table table({{"change"}, {"costs"}, {"before"}, {"after"}, {"counts"},
               {"", Table::Side::kLeft}, {"what", Table::Side::kLeft}});
  size_t left_out = 0;
  size_t shown = 0;
  for (const Compared& row : rows) {
    if (!IsShown(row, all)) continue;
    if (shown == limit) {
      ++left_out;
      continue;
    }
    ++shown;
    const bool is_both = row.before.times.count() != 0 && row.after.times.count() != 0;
    table.Add({is_both ? absl::StrFormat("%+.1f %%", row.change * 100) : "",
               SignedTimeText(row.cost), SpreadText(row.before), SpreadText(row.after),
               absl::StrCat(Count(row.before.times.count()), " / ",
                            Count(row.after.times.count())),
               NameOf(row.verdict),
               absl::StrCat(row.name, row.place.empty() ? "" : "  (", row.place,
                            row.place.empty() ? "" : ")")},
              ToneOf(row.verdict));
  }
  if (table.empty()) return "";
  std::string text =
      absl::StrCat("\n", look.Paint(Tone::kStrong, title), "\n", table.Render(look));
  if (left_out != 0) absl::StrAppend(&text, "  ... and ", left_out, " more; --limit shows more\n");
  return text;
}

size_t CountOf(const std::vector<Compared>& rows, Verdict verdict) {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [&](const Compared& row) {
    return row.verdict == verdict;
  }));
}

std::string SummaryText(const std::vector<Compared>& rows, const char* what) {
  std::string text = absl::StrCat("  ", what, ":");
  bool is_first = true;
  for (Verdict verdict : {Verdict::kSlower, Verdict::kFaster, Verdict::kSame, Verdict::kTooFew,
                          Verdict::kOnlyBefore, Verdict::kOnlyAfter}) {
    const size_t count = CountOf(rows, verdict);
    if (count == 0) continue;
    absl::StrAppend(&text, is_first ? " " : ", ", count, " ", NameOf(verdict));
    is_first = false;
  }
  return absl::StrCat(text, is_first ? " none" : "", "\n");
}

void WriteSample(const char* key, const Sample& sample, JsonWriter& json) {
  if (sample.times.count() == 0) return;
  json.Key(key).BeginObject().Key("count").Unsigned(sample.times.count());
  json.Key("p10").Integer(sample.times.Quantile(0.1));
  json.Key("p50").Integer(sample.times.median());
  json.Key("p90").Integer(sample.times.Quantile(0.9));
  json.Key("mean").Number(sample.times.mean()).EndObject();
}

void WriteRows(const char* key, const std::vector<Compared>& rows, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const Compared& row : rows) {
    json.BeginObject().Key("name").String(row.name).Key("place").String(row.place);
    json.Key("verdict").String(NameOf(row.verdict)).Key("change").Number(row.change);
    json.Key("cost_ns").Number(row.cost);
    WriteSample("before", row.before, json);
    WriteSample("after", row.after, json);
    json.EndObject();
  }
  json.EndArray();
}

std::string ToJson(const Comparison& comparison) {
  JsonWriter json;
  json.BeginObject();
  WriteRows("replays", comparison.replays, json);
  WriteRows("ops", comparison.ops, json);
  return json.EndObject().text();
}

void PrintText(const Comparison& comparison, const cli::Arguments& arguments,
               cli::Console& console) {
  constexpr int64_t kShownByDefault = 20;
  const Look look = memory::LookOf(arguments, console);
  const bool all = arguments.Has("--all");
  const size_t limit = static_cast<size_t>(arguments.Integer("--limit", kShownByDefault));
  console.out << look.Paint(Tone::kStrong, absl::StrCat(BaseName(arguments.OperandAt(0)), " and ",
                                                        BaseName(arguments.OperandAt(1))))
              << "\n"
              << SummaryText(comparison.replays, "replays") << SummaryText(comparison.ops, "ops")
              << TableText("Replays, by wall time: median (and middle 80 %)", comparison.replays,
                           all, limit, look)
              << TableText("Ops: median (and middle 80 %)", comparison.ops, all, limit, look);
}

// An operand and what is read of it.
struct Side {
  trace::TraceTables tables;
  trace::TraceStatistics statistics{tables};
};

int Run(const cli::Arguments& arguments, cli::Console& console) {
  CompareLimits limits;
  limits.least_change = arguments.Number("--least", limits.least_change * 100) / 100;
  if (!(limits.least_change >= 0) || arguments.Integer("--limit", 1) < 1) {
    console.err << "graphtree profile diff: --least is a number of per cent from 0, and --limit "
                   "counts from 1\n";
    return cli::kWrongUse;
  }
  if (arguments.OperandAt(0) == "-" && arguments.OperandAt(1) == "-") {
    console.err << "graphtree profile diff: only one trace can come through the standard input\n";
    return cli::kWrongUse;
  }
  Side before, after;
  for (Side* side : {&before, &after}) {
    const std::string path = arguments.OperandAt(side == &before ? 0 : 1);
    const absl::Status status = Load(path, side->tables, side->statistics, console);
    if (!status.ok()) return cli::BadInput(console, "profile diff", status);
    for (const std::string& warning : Warnings(side->statistics)) {
      console.err << "graphtree: note: " << path << ": " << warning << "\n";
    }
  }
  const Comparison comparison = Compare(before.statistics, after.statistics, limits);
  if (arguments.Has("--json")) {
    console.out << ToJson(comparison) << "\n";
  } else {
    PrintText(comparison, arguments, console);
  }
  const bool is_worse = CountOf(comparison.ops, Verdict::kSlower) != 0 ||
                        CountOf(comparison.replays, Verdict::kSlower) != 0;
  return is_worse ? cli::kFoundSomething : cli::kFine;
}

}  // namespace

cli::Verb DiffVerb() {
  return {
      .name = "profile diff",
      .summary = "Say which ops became slower from one trace to another, and which only seem to.",
      .description =
          "An op is slower or faster when its median changed by at least --least, by more than "
          "chance explains among so many ops, and by more than twice what the median wanders by "
          "inside each of the two traces. A clock that drifts is then no difference. What an op "
          "costs is the change of its median times its runs in AFTER.\n\n"
          "Ops belong together by name, function, program, shape, scope, input sizes, grid and "
          "place in the graph; the numbers of tree nodes and graphs differ between processes and "
          "are not looked at.\n\n"
          "The exit code is 1 where an op or a replay became slower. --json writes times in "
          "nanoseconds: replays and ops, each with name, place, verdict, change, cost_ns, before "
          "and after (count, p10, p50, p90, mean).",
      .operands = {TraceOperand("BEFORE"), TraceOperand("AFTER")},
      .options = {{.name = "--least",
                   .kind = cli::ValueKind::kNumber,
                   .value_name = "PERCENT",
                   .help = "The least change of a median that counts (default 2)."},
                  {.name = "--all", .help = "Also ops that are the same, or too few to say."},
                  {.name = "--limit",
                   .kind = cli::ValueKind::kInteger,
                   .value_name = "N",
                   .help = "Show this many rows of each table (default 20)."},
                  cli::JsonOption(),
                  memory::ColorOption()},
      .examples = {{"graphtree profile diff monday.json today.json", "what became slower"},
                   {"graphtree profile diff old.json new.json --least 5 --all",
                    "every op, called different from 5 % on"}},
      .run = Run};
}

}  // namespace graphtree::profile
