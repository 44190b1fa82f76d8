// Groups of holdings, as a table or JSON.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "device/base/json_writer.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/frames.h"
#include "tools/snapshot/analysis/top.h"

namespace graphtree::memory {
namespace {

using snapshot::GroupBy;
using snapshot::Grouping;
using snapshot::Holder;
using snapshot::Snapshot;

constexpr int64_t kShownByDefault = 20;

Grouping WantedGrouping(const cli::Arguments& arguments) {
  Grouping grouping;
  const std::string by = arguments.Text("--by", "stack");
  grouping.by = by == "line"   ? GroupBy::kLine
                : by == "tag"  ? GroupBy::kTag
                : by == "node" ? GroupBy::kNode
                : by == "pool" ? GroupBy::kPool
                : by == "size" ? GroupBy::kSize
                               : GroupBy::kStack;
  grouping.depth = static_cast<size_t>(arguments.Integer("--depth", 0));
  grouping.field = arguments.Text("--field");
  return grouping;
}

bool ByStack(const Grouping& grouping) {
  return grouping.by == GroupBy::kStack || grouping.by == GroupBy::kLine;
}

std::string ToJson(const Snapshot& snapshot, const std::vector<Holder>& holders,
                   const Grouping& grouping, const HeldAt& held) {
  JsonWriter json;
  json.BeginObject().Key("moment").String(held.moment).Key("holders").BeginArray();
  for (const Holder& holder : holders) {
    json.BeginObject().Key("key").String(holder.key).Key("bytes").Unsigned(holder.bytes);
    json.Key("requested_bytes").Unsigned(holder.requested).Key("blocks").Unsigned(holder.blocks);
    if (grouping.by == GroupBy::kNode) json.Key("by_place").Unsigned(holder.by_place);
    if (ByStack(grouping)) {
      json.Key("stack");
      WriteStack(snapshot, holder.stack, json);
    }
    json.Key("notes").BeginArray();
    for (const std::string& note : NoteTexts(snapshot, holder.notes)) json.String(note);
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().text();
}

std::string Label(const Snapshot& snapshot, const Holder& holder, const Grouping& grouping) {
  if (grouping.by == GroupBy::kSize) {
    uint64_t bound = 0;
    return absl::SimpleAtoi(holder.key.substr(3), &bound) ? absl::StrCat("up to ", Bytes(bound))
                                                          : holder.key;
  }
  if (grouping.by == GroupBy::kStack && grouping.depth == 0) {
    return StackLine(snapshot, holder.stack);
  }
  if (grouping.by == GroupBy::kLine) {
    const snapshot::FrameId culprit = snapshot::Culprit(snapshot, holder.stack);
    return culprit == snapshot::kNoId ? holder.key : snapshot::ShortFrameText(snapshot, culprit);
  }
  return absl::StrJoin(absl::StrSplit(holder.key, '\n'), " < ");
}

void PrintHowNodesAreKnown(const std::vector<Holder>& holders, const Look& look,
                           std::ostream& out) {
  uint64_t by_place = 0;
  for (const Holder& holder : holders) by_place += holder.by_place;
  if (by_place == 0) return;
  out << look.Paint(Tone::kDim,
                    absl::StrCat("  ", Plural(by_place, "block is", "blocks are"),
                                 " gone by the end, so the node is told by function and place"))
      << "\n";
}

void PrintText(const Snapshot& snapshot, const std::vector<Holder>& holders,
               const Grouping& grouping, const HeldAt& held, const cli::Arguments& arguments,
               const Look& look, std::ostream& out) {
  uint64_t all = 0;
  for (const Holder& holder : holders) all += holder.bytes;
  out << look.Paint(Tone::kStrong, absl::StrCat("Held ", held.moment, ": ", Bytes(all))) << " in "
      << Plural(held.holdings.size(), "block", "blocks") << ", "
      << Plural(holders.size(), "holder", "holders") << "\n\n";
  const size_t shown = static_cast<size_t>(
      arguments.Integer("--limit", kShownByDefault) < 0
          ? 0
          : arguments.Integer("--limit", kShownByDefault));
  const auto cells = [&](const Holder& holder) -> std::vector<std::string> {
    const double share =
        all == 0 ? 0 : static_cast<double>(holder.bytes) / static_cast<double>(all);
    return {Bytes(holder.bytes), Percent(share), Count(holder.blocks),
            Label(snapshot, holder, grouping)};
  };
  const std::vector<Table::Column> columns = {
      {"bytes"}, {"share"}, {"blocks"}, {"holder", Table::Side::kLeft}};
  Table table(columns);
  for (size_t i = 0; i < holders.size() && i < shown; ++i) {
    table.Add(cells(holders[i]));
    const std::string notes = NotesLine(NoteTexts(snapshot, holders[i].notes));
    if (!notes.empty()) table.Add({"", "", "", notes}, Tone::kDim);
    if (!arguments.Has("--stacks") || !ByStack(grouping)) continue;
    out << table.Render(look)
        << StackLines(snapshot, holders[i].stack, Frames::kVisible, look, 8) << "\n";
    table = Table(columns);
  }
  if (!table.empty()) out << table.Render(look);
  if (grouping.by == GroupBy::kNode) PrintHowNodesAreKnown(holders, look, out);
  if (holders.size() > shown) {
    uint64_t rest = 0;
    for (size_t i = shown; i < holders.size(); ++i) rest += holders[i].bytes;
    out << "  ... and " << Plural(holders.size() - shown, "holder", "holders") << " with "
        << Bytes(rest) << "; --limit shows more\n";
  }
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  if (arguments.Integer("--depth", 0) < 0 || arguments.Integer("--limit", 1) < 1) {
    console.err << "graphtree memory top: --depth and --limit count from 1\n";
    return cli::kWrongUse;
  }
  const std::string by = arguments.Text("--by", "stack");
  if ((arguments.Has("--field") && by != "tag") || (arguments.Has("--depth") && by != "stack")) {
    console.err << "graphtree memory top: --field goes with --by tag and --depth with --by stack, "
                   "not with --by "
                << by << "\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory top", loaded.status());
  const Snapshot& snapshot = **loaded;
  const auto selection = Select(snapshot, arguments);
  if (!selection.ok()) return cli::BadInput(console, "memory top", selection.status());
  const auto held = HoldingsOf(snapshot, *selection, arguments);
  if (!held.ok()) {
    console.err << "graphtree memory top: " << held.status().message() << "\n";
    return cli::kWrongUse;
  }
  const Grouping grouping = WantedGrouping(arguments);
  std::vector<Holder> holders = GroupHoldings(snapshot, held->holdings, grouping);
  if (arguments.Has("--json")) {
    const size_t limit = static_cast<size_t>(
        arguments.Integer("--limit", static_cast<int64_t>(holders.size())));
    if (holders.size() > limit) holders.resize(limit);
    console.out << ToJson(snapshot, holders, grouping, *held) << "\n";
    return cli::kFine;
  }
  PrintText(snapshot, holders, grouping, *held, arguments, LookOf(arguments, console),
            console.out);
  return cli::kFine;
}

std::vector<cli::Option> Options() {
  std::vector<cli::Option> options = {
      {.name = "--by",
       .kind = cli::ValueKind::kChoice,
       .help = "What a holder is: a whole stack (the default), the user's line, the tag that was "
               "set when it was allocated, a tree node of ours, a pool, a size.",
       .choices = {"stack", "line", "tag", "node", "pool", "size"}},
      {.name = "--depth",
       .kind = cli::ValueKind::kInteger,
       .value_name = "N",
       .help = "With --by stack: tell apart by this many frames, from the user's line outwards."},
      {.name = "--field",
       .kind = cli::ValueKind::kText,
       .value_name = "NAME",
       .help = "With --by tag: where the tag is a JSON object, by this field of it."},
      AtOption(),
      StacksOption(),
      {.name = "--limit",
       .kind = cli::ValueKind::kInteger,
       .value_name = "N",
       .help = "Show this many holders (default 20; all with --json)."}};
  for (cli::Option& option : SideOptions()) options.push_back(std::move(option));
  options.push_back(cli::JsonOption());
  options.push_back(ColorOption());
  return options;
}

}  // namespace

cli::Verb TopVerb() {
  return {.name = "memory top",
          .summary = "Show the largest holders of memory, by stack, tag, node, pool or size.",
          .description =
              "Every block that is allocated is counted for one holder. A stack is shown as the "
              "innermost line of Python outside installed packages, and the operator that asked; "
              "--stacks shows its frames. Notes that were put on live memory stand below.\n\n"
              "A block that is held at the end says which node it is of. Of one that is gone by "
              "then the history knows the function and the address: it is counted for the node "
              "of this function whose recording lies there, or for \"one of\" several, which use "
              "the same memory one after the other.\n\n"
              "--json writes: moment, holders (a list of key, bytes, requested_bytes, blocks, "
              "notes; stack where holders are stacks; by_place where they are nodes: the blocks "
              "whose node was told by function and address). The key of a stack has one frame a "
              "line, innermost first.",
          .operands = {SnapshotOperand()},
          .options = Options(),
          .examples = {{"graphtree memory top train.pickle --by line", "which lines hold most"},
                       {"graphtree memory top train.pickle --at peak --stacks --limit 3",
                        "who held what when most was held"}},
          .run = Run};
}

}  // namespace graphtree::memory
