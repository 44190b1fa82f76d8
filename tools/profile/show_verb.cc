// Reads a trace once and says where its time went.
#include <limits>
#include <ostream>
#include <string>

#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/tables.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/text.h"
#include "tools/profile/load.h"
#include "tools/profile/show_text.h"
#include "tools/profile/verbs.h"

namespace graphtree::profile {
namespace {

OpOrder OrderOf(const std::string& by) {
  if (by == "p99") return OpOrder::kP99;
  if (by == "gap") return OpOrder::kGap;
  return by == "count" ? OpOrder::kCount : OpOrder::kTotal;
}

bool HasFunction(const trace::TraceStatistics& statistics, const std::string& function) {
  for (const FunctionSum& sum : FunctionSums(statistics)) {
    if (statistics.tables().text(sum.function) == function) return true;
  }
  return false;
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  if (arguments.Integer("--limit", 1) < 1) {
    console.err << "graphtree profile show: --limit counts from 1\n";
    return cli::kWrongUse;
  }
  trace::TraceTables tables;
  trace::TraceStatistics statistics(tables);
  const absl::Status status = Load(arguments.OperandAt(0), tables, statistics, console);
  if (!status.ok()) return cli::BadInput(console, "profile show", status);
  ShowOptions options;
  options.order = OrderOf(arguments.Text("--by", "total"));
  options.function = arguments.Text("--function");
  if (!options.function.empty() && !HasFunction(statistics, options.function)) {
    console.err << "graphtree profile show: no op of the trace belongs to a function "
                << options.function << "; `graphtree profile show` without --function lists them\n";
    return cli::kWrongUse;
  }
  constexpr int64_t kShownByDefault = 20;
  const int64_t all = std::numeric_limits<int32_t>::max();
  options.most_rows = static_cast<size_t>(
      arguments.Integer("--limit", arguments.Has("--json") ? all : kShownByDefault));
  if (arguments.Has("--json")) {
    console.out << ShowJson(statistics, options) << "\n";
  } else {
    console.out << ShowText(BaseName(arguments.OperandAt(0)), statistics, options,
                            memory::LookOf(arguments, console));
  }
  return cli::kFine;
}

}  // namespace

cli::Verb ShowVerb() {
  return {
      .name = "profile show",
      .summary = "Show where the time of a trace went: replays, ops, gaps, launches.",
      .description =
          "A replay is what one launch of a graph ran. Its wall time goes from the begin of its "
          "first op to the end of its last; work is the part in which an op runs, gaps the rest; "
          "latency goes from the begin of the launch call to the first op. Where the trace knows "
          "it, an op is told with its function, tree node, shape and place in the graph.\n\n"
          "A file that is cut off or damaged is shown as far as it goes, and says so. Memory does "
          "not grow with the file. A quantile is off by at most 0.8 %.\n\n"
          "--json writes times in nanoseconds: replays, functions, ops, host, each with count, "
          "total, min, mean, p50, p99 and max of what was measured, and warnings.",
      .operands = {TraceOperand()},
      .options = {{.name = "--by",
                   .kind = cli::ValueKind::kChoice,
                   .help = "Order ops by their whole time (the default), their 99th percentile, "
                           "the gaps before them, or how often they ran.",
                   .choices = {"total", "p99", "gap", "count"}},
                  {.name = "--function",
                   .kind = cli::ValueKind::kText,
                   .value_name = "NAME",
                   .help = "Only what belongs to this function of a tree."},
                  {.name = "--limit",
                   .kind = cli::ValueKind::kInteger,
                   .value_name = "N",
                   .help = "Show this many rows of each table (default 20; all with --json)."},
                  cli::JsonOption(),
                  memory::ColorOption()},
      .examples = {{"graphtree profile show trace.json", "where the time went"},
                   {"graphtree profile show trace.json --by p99 --limit 5",
                    "the ops with the slowest stragglers"},
                   {"graphtree profile show trace.json --json | jq '.replays[0].gaps'",
                    "for scripts"}},
      .run = Run};
}

}  // namespace graphtree::profile
