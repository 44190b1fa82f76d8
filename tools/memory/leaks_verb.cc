// What grows in every interval between snapshots.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/json_writer.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/compare.h"

namespace graphtree::memory {
namespace {

using snapshot::Interval;
using snapshot::Leak;

std::string ToJson(const std::vector<Leak>& leaks) {
  JsonWriter json;
  json.BeginObject().Key("leaks").BeginArray();
  for (const Leak& leak : leaks) {
    json.BeginObject().Key("stack");
    WriteStack(*leak.at.snapshot, leak.stack, json);
    json.Key("bytes").Integer(leak.bytes).Key("count").Integer(leak.count);
    json.Key("per_interval").BeginArray();
    for (const Interval& interval : leak.intervals) {
      json.BeginObject().Key("bytes").Integer(interval.bytes);
      json.Key("count").Integer(interval.count).EndObject();
    }
    json.EndArray().Key("notes").BeginArray();
    for (const std::string& note : leak.notes) json.String(note);
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

void PrintText(const std::vector<Leak>& leaks, size_t intervals, Frames frames, const Look& look,
               std::ostream& out) {
  if (leaks.empty()) {
    out << look.Paint(Tone::kGood, "No stack grows") << " in "
        << (intervals == 1 ? "the interval"
                           : absl::StrCat("every one of ", intervals, " intervals"))
        << ".\n";
    return;
  }
  int64_t bytes = 0;
  for (const Leak& leak : leaks) bytes += leak.bytes;
  out << look.Paint(Tone::kBad, absl::StrCat(Plural(leaks.size(), "stack grows", "stacks grow"),
                                             " in every interval, by ",
                                             Bytes(static_cast<uint64_t>(bytes)), " in all"))
      << "\n";
  for (const Leak& leak : leaks) {
    out << "\n  "
        << look.Paint(
               Tone::kStrong,
               absl::StrCat(SignedBytes(leak.bytes), " in ", leak.count < 0 ? "-" : "",
                            Plural(static_cast<uint64_t>(std::abs(leak.count)), "block", "blocks")))
        << "  "
        << Clip(StackLine(*leak.at.snapshot, leak.stack),
                static_cast<size_t>(std::max(look.columns - 30, 30)))
        << "\n    per interval: "
        << absl::StrJoin(leak.intervals, ", ",
                         [](std::string* text, const Interval& interval) {
                           absl::StrAppend(text, SignedBytes(interval.bytes), " x",
                                           interval.count);
                         })
        << "\n";
    if (!leak.notes.empty()) out << "    " << NotesLine(leak.notes) << "\n";
    out << StackLines(*leak.at.snapshot, leak.stack, frames, look, 6);
  }
  if (intervals == 1) {
    out << "\n"
        << Paragraph("Two snapshots show growth, not a leak: a third one, later, tells caches that "
                     "fill from what never stops.", look, 0);
  }
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const std::vector<std::string>& paths = arguments.operands();
  if (paths.size() < 2) {
    console.err << "graphtree memory leaks: at least two snapshots are needed\n";
    return cli::kWrongUse;
  }
  if (!StandardInputOnce(paths, "memory leaks", console)) return cli::kWrongUse;
  std::vector<std::unique_ptr<snapshot::Snapshot>> files;
  std::vector<std::vector<snapshot::Holding>> holdings(paths.size());
  std::vector<snapshot::Moment> moments;
  for (size_t i = 0; i < paths.size(); ++i) {
    auto loaded = Load(paths[i], console);
    if (!loaded.ok()) return cli::BadInput(console, "memory leaks", loaded.status());
    files.push_back(*std::move(loaded));
    const auto selection = Select(*files.back(), arguments);
    if (!selection.ok()) return cli::BadInput(console, "memory leaks", selection.status());
    holdings[i] = HoldingsAtEnd(*files.back(), selection->side, selection->histories);
    moments.push_back({files.back().get(), &holdings[i]});
  }
  const uint64_t least = static_cast<uint64_t>(arguments.Bytes("--min", 1));
  const std::vector<Leak> leaks = FindLeaks(moments, least);
  if (arguments.Has("--json")) {
    console.out << ToJson(leaks) << "\n";
  } else {
    PrintText(leaks, moments.size() - 1,
              arguments.Has("--stacks") ? Frames::kVisible : Frames::kPython,
              LookOf(arguments, console), console.out);
  }
  return leaks.empty() ? cli::kFine : cli::kFoundSomething;
}

}  // namespace

cli::Verb LeaksVerb() {
  cli::Verb verb = {
      .name = "memory leaks",
      .summary = "Show what grows in every interval between snapshots of one program.",
      .description =
          "Give two or more snapshots in the order in which they were taken, best at the same "
          "point "
          "of a loop. A stack that holds more bytes in each than in the one before is listed, with "
          "its growth in each interval.\n\n"
          "Exit code 1 where something grows. --json writes: leaks, a list sorted by bytes of "
          "stack (a list of \"file:line function\", innermost first), bytes and count (grown from "
          "the first snapshot to the last), per_interval (a list of bytes and count), notes.",
      .operands = {{.name = "FIRST", .help = "The earliest snapshot."},
                   {.name = "LATER", .help = "Later ones, in order.", .repeats = true}},
      .options = {{.name = "--min",
                   .kind = cli::ValueKind::kBytes,
                   .value_name = "BYTES",
                   .help = "Leave out what grows by less than this in all."},
                  {.name = "--stacks", .help = "Show the frames of C++ in a stack, too."},
                  cli::JsonOption(),
                  ColorOption()},
      .examples = {{"graphtree memory leaks step9.pickle step19.pickle step39.pickle",
                    "what never stops growing"}},
      .run = Run};
  for (cli::Option& option : SideOptions()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace graphtree::memory
