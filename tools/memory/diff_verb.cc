// Two snapshots by stack: new, gone, kept.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

using snapshot::Amount;
using snapshot::Moment;
using snapshot::StackDifference;

constexpr int64_t kShownByDefault = 20;

struct Sum {
  Amount added, gone, kept;
};

Sum SumOf(const std::vector<StackDifference>& differences) {
  Sum sum;
  const auto add = [](const Amount& amount, Amount& to) {
    to.bytes += amount.bytes;
    to.count += amount.count;
  };
  for (const StackDifference& difference : differences) {
    add(difference.added, sum.added);
    add(difference.gone, sum.gone);
    add(difference.kept, sum.kept);
  }
  return sum;
}

void WriteAmount(absl::string_view key, const Amount& amount, JsonWriter& json) {
  json.Key(key).BeginObject().Key("bytes").Unsigned(amount.bytes);
  json.Key("count").Unsigned(amount.count).EndObject();
}

std::string ToJson(const std::vector<StackDifference>& differences) {
  JsonWriter json;
  const Sum sum = SumOf(differences);
  json.BeginObject();
  WriteAmount("new", sum.added, json);
  WriteAmount("gone", sum.gone, json);
  WriteAmount("kept", sum.kept, json);
  json.Key("stacks").BeginArray();
  for (const StackDifference& difference : differences) {
    json.BeginObject().Key("stack");
    WriteStack(*difference.at.snapshot, difference.stack, json);
    json.Key("growth_bytes").Integer(difference.growth());
    WriteAmount("new", difference.added, json);
    WriteAmount("gone", difference.gone, json);
    WriteAmount("kept", difference.kept, json);
    json.Key("notes").BeginArray();
    for (const std::string& note : difference.notes) json.String(note);
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

void PrintText(const std::vector<StackDifference>& differences, const cli::Arguments& arguments,
               const Look& look, std::ostream& out) {
  const Sum sum = SumOf(differences);
  const auto line = [&](const char* name, const Amount& amount) {
    out << "  " << name << "  " << Bytes(amount.bytes) << " in "
        << Plural(amount.count, "block", "blocks") << "\n";
  };
  out << look.Paint(Tone::kStrong, absl::StrCat("Growth: ", SignedBytes(static_cast<int64_t>(
                                                                sum.added.bytes - sum.gone.bytes))))
      << "\n";
  line("new ", sum.added);
  line("gone", sum.gone);
  line("kept", sum.kept);
  const size_t limit = static_cast<size_t>(arguments.Integer("--limit", kShownByDefault));
  const std::vector<Table::Column> columns = {
      {"growth"}, {"new"}, {"gone"}, {"kept"}, {"stack", Table::Side::kLeft}};
  const auto amount = [](const Amount& some) {
    return some.count == 0 ? std::string("-")
                           : absl::StrCat(Bytes(some.bytes), " x", Count(some.count));
  };
  Table table(columns);
  size_t shown = 0;
  size_t changed = 0;
  for (const StackDifference& difference : differences) {
    if (difference.added.count == 0 && difference.gone.count == 0) continue;
    if (++changed > limit) continue;
    ++shown;
    table.Add({SignedBytes(difference.growth()), amount(difference.added),
               amount(difference.gone), amount(difference.kept),
               StackLine(*difference.at.snapshot, difference.stack)});
    const std::string notes = NotesLine(difference.notes);
    if (!notes.empty()) table.Add({"", "", "", "", notes}, Tone::kDim);
    if (!arguments.Has("--stacks")) continue;
    out << "\n"
        << table.Render(look)
        << StackLines(*difference.at.snapshot, difference.stack, Frames::kVisible, look, 8);
    table = Table(columns);
  }
  if (!table.empty()) out << "\n" << table.Render(look);
  if (changed > shown) out << "  ... and " << changed - shown << " more; --limit shows them\n";
  if (changed == 0) out << "\nNo stack holds more or less than before.\n";
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  if (arguments.Integer("--limit", 1) < 1) {
    console.err << "graphtree memory diff: --limit counts from 1\n";
    return cli::kWrongUse;
  }
  if (!StandardInputOnce(arguments.operands(), "memory diff", console)) return cli::kWrongUse;
  std::unique_ptr<snapshot::Snapshot> files[2];
  std::vector<snapshot::Holding> holdings[2];
  for (size_t i = 0; i < 2; ++i) {
    auto loaded = Load(arguments.OperandAt(i), console);
    if (!loaded.ok()) return cli::BadInput(console, "memory diff", loaded.status());
    files[i] = *std::move(loaded);
    const auto selection = Select(*files[i], arguments);
    if (!selection.ok()) return cli::BadInput(console, "memory diff", selection.status());
    holdings[i] = HoldingsAtEnd(*files[i], selection->side, selection->histories);
  }
  const std::vector<StackDifference> differences =
      snapshot::Difference({files[0].get(), &holdings[0]}, {files[1].get(), &holdings[1]});
  if (arguments.Has("--json")) {
    console.out << ToJson(differences) << "\n";
  } else {
    PrintText(differences, arguments, LookOf(arguments, console), console.out);
  }
  const Sum sum = SumOf(differences);
  return sum.added.count + sum.gone.count == 0 ? cli::kFine : cli::kFoundSomething;
}

}  // namespace

cli::Verb DiffVerb() {
  cli::Verb verb = {
      .name = "memory diff",
      .summary = "Show what is new, gone and kept between two snapshots, by stack.",
      .description =
          "Allocations are matched by their stack and size, since addresses mean nothing across "
          "processes: of three blocks of one size and stack before and five after, three are kept "
          "and two are new.\n\n"
          "Exit code 1 where anything is new or gone. --json writes: new, gone, kept (bytes and "
          "count), stacks (a list of stack, growth_bytes, new, gone, kept, notes), largest change "
          "first.",
      .operands = {{.name = "BEFORE", .help = "The earlier snapshot."},
                   {.name = "AFTER", .help = "The later one."}},
      .options = {StacksOption(),
                  {.name = "--limit",
                   .kind = cli::ValueKind::kInteger,
                   .value_name = "N",
                   .help = "Show this many stacks (default 20; all with --json)."},
                  cli::JsonOption(),
                  ColorOption()},
      .examples = {{"graphtree memory diff step9.pickle step39.pickle", "what thirty steps added"}},
      .run = Run};
  for (cli::Option& option : SideOptions()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace graphtree::memory
