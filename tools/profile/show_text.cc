// The tables of `profile show`.
#include "tools/profile/show_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

using memory::Count;
using memory::Look;
using memory::Paragraph;
using memory::Percent;
using memory::Plural;
using memory::Table;
using memory::Tone;
using trace::Distribution;
using trace::OpRow;
using trace::PairRow;
using trace::ReplayRow;
using trace::SpanRow;
using trace::TraceStatistics;

constexpr Table::Side kLeft = Table::Side::kLeft;

double Share(double part, double whole) { return whole <= 0 ? 0 : part / whole; }

std::string Median(const Distribution& times) {
  return times.count() == 0 ? "" : TimeText(static_cast<double>(times.median()));
}

std::string Late(const Distribution& times) {
  return times.count() == 0 ? "" : TimeText(static_cast<double>(times.Quantile(0.99)));
}

std::string Title(absl::string_view text, const Look& look) {
  return absl::StrCat("\n", look.Paint(Tone::kStrong, text), "\n");
}

std::string More(size_t all, size_t shown, absl::string_view what) {
  if (all <= shown) return "";
  return absl::StrCat("  ... and ", Count(all - shown), " more ", what, "; --limit shows more\n");
}

// What one replay spends where, and what one op in place of all would save.
std::string ReplaySentence(const TraceStatistics& statistics, const ReplayRow& row) {
  const double waiting = row.waiting.mean();
  const double whole = waiting + row.wall.mean();
  std::string text = absl::StrCat(ReplayName(statistics.tables(), row), ": of ", TimeText(whole),
                                  " that a replay takes on average, ");
  if (row.waiting.count() != 0) {
    absl::StrAppend(&text, Percent(Share(waiting, whole)), " is waiting for the launch, ");
  }
  absl::StrAppend(&text, Percent(Share(row.work.mean(), whole)), " is work and ",
                  Percent(Share(row.gaps.mean(), whole)), " are gaps between ops. ");
  const double saved = row.gaps.mean();
  if (row.ops <= row.wall.count()) return absl::StrCat(text, "It is one op: nothing to fuse.");
  return absl::StrCat(text, "A fused path, one op in place of ",
                      Count(row.ops / row.wall.count()), ", would save at most those gaps: ",
                      TimeText(saved), " of each, ", TimeText(row.gaps.sum()), " in this trace.");
}

std::string ReplaysText(const TraceStatistics& statistics, const ShowOptions& options,
                        const Look& look) {
  const std::vector<const ReplayRow*> rows = ShownReplays(statistics, options);
  if (rows.empty()) return "";
  Table table({{"count"}, {"ops"}, {"wall p50"}, {"p99"}, {"max"}, {"latency p50"}, {"p99"},
               {"call p50"}, {"work"}, {"gaps"}, {"replay of", kLeft}});
  const size_t shown = std::min(rows.size(), options.most_rows);
  for (size_t i = 0; i < shown; ++i) {
    const ReplayRow& row = *rows[i];
    const double wall = row.wall.sum();
    table.Add({Count(row.wall.count()), Count(row.ops_of_first), Median(row.wall), Late(row.wall),
               TimeText(static_cast<double>(row.wall.max())), Median(row.latency),
               Late(row.latency), Median(row.call), Percent(Share(row.work.sum(), wall)),
               Percent(Share(row.gaps.sum(), wall)), ReplayName(statistics.tables(), row)});
  }
  std::string text = absl::StrCat(Title("Replays, those with most time first", look),
                                  table.Render(look), More(rows.size(), shown, "graphs"), "\n");
  constexpr size_t kSentences = 3;
  for (size_t i = 0; i < std::min(shown, kSentences); ++i) {
    absl::StrAppend(&text, Paragraph(ReplaySentence(statistics, *rows[i]), look));
  }
  return text;
}

// What a graph would save where ops are launched one by one.
std::string AloneSentence(const TraceStatistics& statistics, const ShowOptions& options,
                          const Look& look) {
  const Distribution& waiting = statistics.waiting_alone();
  constexpr uint64_t kLeast = 2;
  if (waiting.count() < kLeast || waiting.sum() <= 0 || !options.function.empty()) return "";
  const double span = static_cast<double>(statistics.last_ns() - statistics.first_ns());
  return Paragraph(
      absl::StrCat(Plural(waiting.count(), "op was", "ops were"),
                   " launched one by one, and their streams had nothing to do but wait for the "
                   "launch for ",
                   TimeText(waiting.sum()), ", ", Percent(Share(waiting.sum(), span)),
                   " of the trace: a graph of them would save at most that."),
      look);
}

std::string OpsText(const TraceStatistics& statistics, const ShowOptions& options,
                    const Look& look) {
  const std::vector<const OpRow*> rows = ShownOps(statistics, options);
  if (rows.empty()) return "";
  double all = 0;
  for (const OpRow* row : rows) all += row->duration.sum();
  Table table({{"total"}, {"share"}, {"count"}, {"min"}, {"mean"}, {"p50"}, {"p99"}, {"gap p50"},
               {"launch p50"}, {"GB/s"}, {"op", kLeft}});
  const size_t shown = std::min(rows.size(), options.most_rows);
  for (size_t i = 0; i < shown; ++i) {
    const OpRow& row = *rows[i];
    const Distribution& times = row.duration;
    const std::string place = OpPlace(statistics.tables(), row);
    table.Add({TimeText(times.sum()), Percent(Share(times.sum(), all)), Count(times.count()),
               TimeText(static_cast<double>(times.min())), TimeText(times.mean()), Median(times),
               Late(times), Median(row.gap), Median(row.latency),
               row.bytes == 0 ? "" : absl::StrFormat("%.1f", Share(row.bytes, times.sum())),
               absl::StrCat(OpName(statistics.tables(), row.identity), place.empty() ? "" : "  (",
                            place, place.empty() ? "" : ")")});
  }
  return absl::StrCat(Title("Ops on the device", look), table.Render(look),
                      More(rows.size(), shown, "ops"), AloneSentence(statistics, options, look));
}

std::string FunctionsText(const TraceStatistics& statistics, const ShowOptions& options,
                          const Look& look) {
  const std::vector<FunctionSum> sums = FunctionSums(statistics);
  if (sums.size() < 2 || !options.function.empty()) return "";
  Table table({{"total"}, {"ops"}, {"min"}, {"mean"}, {"p50"}, {"p99"}, {"replays"},
               {"wall p50"}, {"function", kLeft}});
  const size_t shown = std::min(sums.size(), options.most_rows);
  for (size_t i = 0; i < shown; ++i) {
    const FunctionSum& sum = sums[i];
    table.Add({TimeText(sum.duration.sum()), Count(sum.duration.count()),
               TimeText(static_cast<double>(sum.duration.min())), TimeText(sum.duration.mean()),
               Median(sum.duration), Late(sum.duration), Count(sum.wall.count()),
               Median(sum.wall), std::string(statistics.tables().text(sum.function))});
  }
  return absl::StrCat(Title("Functions, by the time of their ops", look), table.Render(look),
                      More(sums.size(), shown, "functions"));
}

std::string PairsText(const TraceStatistics& statistics, const ShowOptions& options,
                      const Look& look) {
  std::vector<const PairRow*> rows;
  for (const PairRow& row : statistics.pairs()) {
    const trace::TextId function = statistics.tables().identity(row.first).function;
    const bool wanted = options.function.empty() ||
                        statistics.tables().text(function) == options.function;
    if (wanted && row.gap.sum() > 0) rows.push_back(&row);
  }
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(), [](const PairRow* a, const PairRow* b) {
    return a->gap.sum() > b->gap.sum();
  });
  Table table({{"total"}, {"count"}, {"p50"}, {"p99"}, {"between", kLeft}});
  const size_t shown = std::min(rows.size(), options.most_rows / 2 + 1);
  for (size_t i = 0; i < shown; ++i) {
    const PairRow& row = *rows[i];
    table.Add({TimeText(row.gap.sum()), Count(row.gap.count()), Median(row.gap), Late(row.gap),
               absl::StrCat(OpName(statistics.tables(), row.first), " and ",
                            OpName(statistics.tables(), row.second))});
  }
  return absl::StrCat(Title("Gaps inside replays: what fusing two ops would save at most", look),
                      table.Render(look), More(rows.size(), shown, "pairs"));
}

std::string SpansText(const TraceStatistics& statistics, const ShowOptions& options,
                      const Look& look) {
  std::vector<const SpanRow*> rows;
  for (const SpanRow& row : statistics.spans()) rows.push_back(&row);
  if (rows.empty() || !options.function.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(), [](const SpanRow* a, const SpanRow* b) {
    return a->duration.sum() > b->duration.sum();
  });
  Table table({{"total"}, {"count"}, {"min"}, {"mean"}, {"p50"}, {"p99"}, {"on the host", kLeft}});
  const size_t shown = std::min(rows.size(), options.most_rows);
  for (size_t i = 0; i < shown; ++i) {
    const Distribution& times = rows[i]->duration;
    const std::string name = memory::Safe(statistics.tables().text(rows[i]->name));
    const bool is_ours = rows[i]->kind != trace::SpanKind::kOther;
    table.Add({TimeText(times.sum()), Count(times.count()),
               TimeText(static_cast<double>(times.min())), TimeText(times.mean()), Median(times),
               Late(times),
               is_ours ? absl::StrCat(name, "  (", NameOf(rows[i]->kind), ")") : name});
  }
  return absl::StrCat(Title("Host, time with what is inside", look), table.Render(look),
                      More(rows.size(), shown, "names"));
}

std::string CountersText(const TraceStatistics& statistics, const Look& look) {
  if (statistics.counters().empty()) return "";
  Table table({{"samples"}, {"least"}, {"most"}, {"last"}, {"counter", kLeft}});
  for (const trace::CounterRow& row : statistics.counters()) {
    table.Add({Count(row.count), absl::StrCat(row.least), absl::StrCat(row.most),
               absl::StrCat(row.last),
               absl::StrCat(statistics.tables().text(row.name), " ",
                            statistics.tables().text(row.series))});
  }
  return absl::StrCat(Title("Counters", look), table.Render(look));
}

}  // namespace

std::string ShowText(const std::string& name, const TraceStatistics& statistics,
                     const ShowOptions& options, const Look& look) {
  uint64_t replays = 0;
  for (const ReplayRow& row : statistics.replays()) replays += row.wall.count();
  const double span = static_cast<double>(statistics.last_ns() - statistics.first_ns());
  std::string text = absl::StrCat(
      look.Paint(Tone::kStrong, name), ": ", Plural(statistics.op_count(), "op", "ops"), ", ",
      Plural(replays, "replay", "replays"), " of ",
      Plural(statistics.replays().size(), "graph", "graphs"), ", ",
      Plural(statistics.span_count(), "host span", "host spans"), " in ", TimeText(span), "\n");
  if (statistics.op_count() != 0) {
    absl::StrAppend(&text, "  the device is busy for ", TimeText(statistics.busy_ns()), ", ",
                    Percent(Share(statistics.busy_ns(), span)), "; made by ",
                    memory::Safe(statistics.header().made_by), "\n");
  }
  for (const std::string& warning : Warnings(statistics)) {
    absl::StrAppend(&text, look.Paint(Tone::kWarning, Paragraph(warning, look)));
  }
  if (statistics.records() == 0) return text + "  there is nothing in it\n";
  return absl::StrCat(text, ReplaysText(statistics, options, look),
                      FunctionsText(statistics, options, look), OpsText(statistics, options, look),
                      PairsText(statistics, options, look), SpansText(statistics, options, look),
                      CountersText(statistics, look));
}

}  // namespace graphtree::profile
