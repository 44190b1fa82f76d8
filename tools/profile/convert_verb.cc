// Reads a trace and writes it in another format, record by record.
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/byte_sink.h"
#include "device/base/status_macros.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/json_trace_writer.h"
#include "profiler/trace/lanes.h"
#include "profiler/trace/perfetto_trace_writer.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sink.h"
#include "profiler/trace/tables.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output_file.h"
#include "tools/cli/registry.h"
#include "tools/memory/flame_svg.h"
#include "tools/memory/flame_tree.h"
#include "tools/memory/same_file.h"
#include "tools/profile/flame.h"
#include "tools/profile/load.h"
#include "tools/profile/sqlite_trace.h"
#include "tools/profile/verbs.h"
#include "tools/profile/words.h"

namespace graphtree::profile {
namespace {

enum class Format { kJson, kPerfetto, kFolded, kSvg, kSqlite };

struct Ending {
  const char* text;
  Format format;
};
constexpr Ending kEndings[] = {
    {".json", Format::kJson},          {".pftrace", Format::kPerfetto},
    {".perfetto-trace", Format::kPerfetto}, {".pb", Format::kPerfetto},
    {".folded", Format::kFolded},      {".svg", Format::kSvg},
    {".sqlite", Format::kSqlite},      {".sqlite3", Format::kSqlite},
    {".db", Format::kSqlite},
};
constexpr Ending kNames[] = {{"json", Format::kJson},
                             {"perfetto", Format::kPerfetto},
                             {"folded", Format::kFolded},
                             {"svg", Format::kSvg},
                             {"sqlite", Format::kSqlite}};

std::optional<Format> WantedFormat(const cli::Arguments& arguments) {
  for (const Ending& name : kNames) {
    if (arguments.Text("--to") == name.text) return name.format;
  }
  for (const Ending& ending : kEndings) {
    if (absl::EndsWith(arguments.OperandAt(1), ending.text)) return ending.format;
  }
  return std::nullopt;
}

trace::LaneChoice WantedLanes(const cli::Arguments& arguments) {
  const std::string lanes = arguments.Text("--lanes", "stream");
  if (lanes == "node") return trace::LaneChoice::kTreeNode;
  return lanes == "program" ? trace::LaneChoice::kProgram : trace::LaneChoice::kStream;
}

// A writer's bytes into a file that appears whole or not at all.
class IntoByteSink : public trace::TraceSink {
 public:
  explicit IntoByteSink(snapshot::ByteSink& sink) : sink_(sink) {}
  void Write(absl::string_view bytes) override { sink_.Write(bytes); }
  const absl::Status& status() const override { return status_; }  // Commit tells

 private:
  snapshot::ByteSink& sink_;
  absl::Status status_;
};

absl::Status WriteStream(Format format, const cli::Arguments& arguments, cli::Console& console) {
  GRAPHTREE_ASSIGN_OR_RETURN(const auto bytes, snapshot::ByteSink::Create(arguments.OperandAt(1)));
  IntoByteSink sink(*bytes);
  trace::TraceTables tables;
  std::unique_ptr<trace::TraceListener> writer;
  if (format == Format::kJson) {
    writer = std::make_unique<trace::JsonTraceWriter>(
        tables, sink,
        trace::JsonTraceOptions{.lanes = WantedLanes(arguments),
                                .flows = !arguments.Has("--without-flows")});
  } else {
    writer = std::make_unique<trace::PerfettoTraceWriter>(tables, sink, WantedLanes(arguments));
  }
  GRAPHTREE_RETURN_IF_ERROR(Load(arguments.OperandAt(0), tables, *writer, console));
  return bytes->Commit();
}

absl::Status WriteSqlite(const cli::Arguments& arguments, cli::Console& console) {
  trace::TraceTables tables;
  GRAPHTREE_ASSIGN_OR_RETURN(const auto writer,
                             SqliteTraceWriter::Create(arguments.OperandAt(1), tables));
  GRAPHTREE_RETURN_IF_ERROR(Load(arguments.OperandAt(0), tables, *writer, console));
  return writer->Commit();
}

absl::Status WriteFlame(Format format, const cli::Arguments& arguments, cli::Console& console) {
  trace::TraceTables tables;
  trace::TraceStatistics statistics(tables);
  GRAPHTREE_RETURN_IF_ERROR(Load(arguments.OperandAt(0), tables, statistics, console));
  const memory::FlameTree tree = FlameOf(statistics);
  const std::string out = arguments.OperandAt(1);
  if (format == Format::kFolded) {
    return cli::WriteOutput(out, memory::FoldedText(tree), console);
  }
  memory::FlameLook look;
  look.value = [](uint64_t ns) { return TimeText(static_cast<double>(ns)); };
  look.title = absl::StrCat(BaseName(arguments.OperandAt(0)), ": ", look.value(tree.root().value),
                            " of ops on the device");
  return cli::WriteOutput(out, memory::RenderFlameSvg(tree, look), console);
}

int Refuse(cli::Console& console, const std::string& why) {
  console.err << "graphtree profile convert: " << why << "\n";
  return cli::kWrongUse;
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const std::string in = arguments.OperandAt(0), out = arguments.OperandAt(1);
  const std::optional<Format> format = WantedFormat(arguments);
  if (!format.has_value()) {
    return Refuse(console, absl::StrCat("the ending of ", out,
                                        " does not say what to write: name it .json, .pftrace, "
                                        ".folded, .svg or .sqlite, or use --to"));
  }
  const bool has_lanes = *format == Format::kJson || *format == Format::kPerfetto;
  if ((arguments.Has("--lanes") && !has_lanes) ||
      (arguments.Has("--without-flows") && *format != Format::kJson)) {
    return Refuse(console,
                  "--lanes goes with JSON and Perfetto, --without-flows with JSON: other formats "
                  "have no timeline");
  }
  if (memory::SameFile(in, out)) {
    console.err << "graphtree profile convert: " << memory::SameFileText(in, out);
    return cli::kWrongUse;
  }
  if (*format == Format::kSqlite && out == "-") {
    return Refuse(console, "SQLite needs a file, not the standard output");
  }
  const absl::Status status = *format == Format::kSqlite ? WriteSqlite(arguments, console)
                              : has_lanes ? WriteStream(*format, arguments, console)
                                          : WriteFlame(*format, arguments, console);
  return status.ok() ? cli::kFine : cli::BadInput(console, "profile convert", status);
}

}  // namespace

cli::Verb ConvertVerb() {
  return {
      .name = "profile convert",
      .summary = "Write a trace as Chrome JSON, Perfetto's protobuf, a flame graph or SQLite.",
      .description =
          "The format is told by the ending of OUT (.json, .pftrace .perfetto-trace .pb, .folded, "
          ".svg, .sqlite .sqlite3 .db) or by --to. JSON has the keys of PyTorch's profiler, with "
          "ours beside them. Perfetto's protobuf is smaller and opens in ui.perfetto.dev; ops that "
          "run side by side on a stream have lines of their own there. Folded stacks and the flame "
          "graph add up the device's time in nanoseconds: program, function, tree node, scopes, "
          "op. SQLite has the tables ops, spans, identities, counters, marks, lanes and about, and "
          "the view launched.\n\n"
          "One pass in bounded memory. A trace that is cut off is written as far as it goes, with "
          "a note in the output. What a format has no place for is left out: JSON keeps members "
          "that this program does not know.",
      .operands = {TraceOperand("IN"), {.name = "OUT", .help = "What to write; - is the standard "
                                                               "output."}},
      .options = {{.name = "--to",
                   .kind = cli::ValueKind::kChoice,
                   .help = "The format, where the ending of OUT does not say it.",
                   .choices = {"json", "perfetto", "folded", "svg", "sqlite"}},
                  {.name = "--lanes",
                   .kind = cli::ValueKind::kChoice,
                   .help = "Draw ops in a line for each stream (the default), tree node or "
                           "program; the stream stays among an op's arguments.",
                   .choices = {"stream", "node", "program"}},
                  {.name = "--without-flows",
                   .help = "JSON without arrows from a launch to its ops."}},
      .examples = {{"graphtree profile convert trace.json trace.pftrace", "for ui.perfetto.dev"},
                   {"graphtree profile convert trace.json ops.svg", "a flame graph"},
                   {"graphtree profile convert trace.json trace.sqlite", "for questions in SQL"},
                   {"graphtree profile convert trace.json - --to folded | sort -k2 -n",
                    "for other tools"}},
      .run = Run};
}

}  // namespace graphtree::profile
