// Reads one kind of file and writes another.
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/json_format.h"
#include "allocator/snapshot/write.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/same_file.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"

namespace graphtree::memory {
namespace {

using snapshot::FileKind;

constexpr int kDefaultProtocol = 4;
constexpr int64_t kMostJsonBytes = int64_t{8} << 30;

std::optional<FileKind> WantedKind(const cli::Arguments& arguments) {
  const std::string to = arguments.Text("--to");
  if (to == "pickle") return FileKind::kPickle;
  if (to == "json") return FileKind::kJson;
  if (to == "sqlite") return FileKind::kSqlite;
  return snapshot::FileKindOf(arguments.OperandAt(1));
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const std::string out = arguments.OperandAt(1);
  const std::optional<FileKind> kind = WantedKind(arguments);
  const int64_t protocol = arguments.Integer("--protocol", kDefaultProtocol);
  if (!kind.has_value()) {
    console.err << "graphtree memory convert: the ending of " << out
                << " does not say what to write: name it .pickle, .json or .sqlite, or use --to\n";
    return cli::kWrongUse;
  }
  if (protocol < 2 || protocol > 5) {
    console.err << "graphtree memory convert: --protocol " << protocol
                << " is not one of 2, 3, 4 and 5\n";
    return cli::kWrongUse;
  }
  if (arguments.Has("--protocol") && *kind != FileKind::kPickle) {
    console.err << "graphtree memory convert: --protocol is a pickle's, and " << out
                << " will be " << (*kind == FileKind::kJson ? "JSON" : "SQLite") << "\n";
    return cli::kWrongUse;
  }
  if (SameFile(arguments.OperandAt(0), out)) {
    console.err << "graphtree memory convert: " << SameFileText(arguments.OperandAt(0), out);
    return cli::kWrongUse;
  }
  if (*kind == FileKind::kSqlite && out == "-") {
    console.err << "graphtree memory convert: SQLite needs a file, not the standard output\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory convert", loaded.status());
  const uint64_t most = static_cast<uint64_t>(arguments.Bytes("--most", kMostJsonBytes));
  const uint64_t stacks = *kind == FileKind::kJson ? snapshot::JsonStackBytes(**loaded) : 0;
  if (stacks > most) {
    console.err << "graphtree memory convert: as JSON the stacks alone would take " << Bytes(stacks)
                << ", since JSON cannot share them: every block and entry has its own in full. A "
                   "pickle or SQLite shares them; --most "
                << (stacks >> 30) + 1 << "GiB writes it all the same\n";
    return cli::kWrongUse;
  }
  const absl::Status written =
      snapshot::WriteSnapshot(**loaded, *kind, static_cast<int>(protocol), out);
  return written.ok() ? cli::kFine : cli::BadInput(console, "memory convert", written);
}

}  // namespace

cli::Verb ConvertVerb() {
  cli::Operand in = SnapshotOperand();
  in.name = "IN";
  return {
      .name = "memory convert",
      .summary = "Write a memory snapshot as pickle, JSON or SQLite.",
      .description =
          "The kind of the output is told by its ending (.pickle .pkl .p .pt, .json, .sqlite "
          ".sqlite3 .db) or by --to. Pickles open in Python and in PyTorch's viewers; protocol 4 "
          "opens everywhere. JSON is the same structure with tuples as arrays, raw bytes as "
          "{\"(bytes)\": \"base64\"}, dictionaries with bytes or tuples as keys as "
          "{\"(dict)\": [[key, value], ...]}, and every stack in full. A text that is not UTF-8 "
          "keeps its bytes in a pickle; JSON shows U+FFFD for them, and a note says which text. "
          "SQLite has the tables "
          "segments, blocks, trace_entries, stacks and frames, and the view stack_text.\n\n"
          "Keys and actions that this program does not know are kept, in SQLite with their tuples. "
          "The output appears whole or not at all, and never in the place of the input.",
      .operands = {in, {.name = "OUT", .help = "What to write; - is the standard output."}},
      .options = {{.name = "--to",
                   .kind = cli::ValueKind::kChoice,
                   .help = "The kind of the output, where its ending does not say it.",
                   .choices = {"pickle", "json", "sqlite"}},
                  {.name = "--protocol",
                   .kind = cli::ValueKind::kInteger,
                   .value_name = "N",
                   .help = "The pickle's protocol, 2 to 5 (default 4)."},
                  {.name = "--most",
                   .kind = cli::ValueKind::kBytes,
                   .value_name = "BYTES",
                   .help = "Write JSON although its stacks take up to this much (default 8GiB): "
                           "JSON has every stack in full wherever it stands."}},
      .examples = {{"graphtree memory convert new.pickle old.pickle --protocol 2",
                    "for a viewer that knows only old pickles"},
                   {"graphtree memory convert oom.pickle oom.sqlite", "for questions in SQL"},
                   {"graphtree memory convert oom.pickle - --to json | jq '.segments | length'",
                    "into a pipe"}},
      .run = Run};
}

}  // namespace graphtree::memory
