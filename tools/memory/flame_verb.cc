// Adds up stacks at a moment, or over the whole history.
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/json_writer.h"
#include "device/base/status_macros.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output_file.h"
#include "tools/cli/registry.h"
#include "tools/memory/flame_svg.h"
#include "tools/memory/flame_tree.h"
#include "tools/memory/load.h"
#include "tools/memory/same_file.h"
#include "tools/memory/selection.h"
#include "tools/memory/stack_text.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/frames.h"
#include "tools/snapshot/analysis/history.h"
#include "tools/snapshot/analysis/holdings.h"

namespace graphtree::memory {
namespace {

using snapshot::FrameId;
using snapshot::Snapshot;
using snapshot::StackId;

// What is added up: stacks with a number each.
struct Summed {
  std::vector<std::pair<StackId, uint64_t>> stacks;
  std::string moment;
  bool counts = false;  // numbers of allocations, not bytes
};

// Outermost first.
std::vector<std::string> FramesOf(const Snapshot& snapshot, StackId stack, bool all) {
  std::vector<std::string> texts;
  if (stack == 0) return {"(no stack recorded)"};
  const auto every = snapshot.stacks[stack];
  const std::vector<FrameId> frames = all ? std::vector<FrameId>(every.begin(), every.end())
                                          : snapshot::VisibleFrames(snapshot, stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    texts.push_back(all ? snapshot::FrameText(snapshot, *frame)
                        : snapshot::ShortFrameText(snapshot, *frame));
  }
  return texts;
}

Summed SumHistory(const Selection& selection) {
  Summed summed;
  summed.moment = "allocated over the whole history";
  for (const snapshot::DeviceHistory& history : selection.histories) {
    for (const snapshot::Allocation& allocation : history.allocations) {
      // What a restore brought back was not allocated again.
      const bool allocated =
          allocation.born != snapshot::kNever && allocation.born == allocation.alloc;
      if (allocation.placeholder || !allocated) continue;
      summed.stacks.emplace_back(allocation.stack, allocation.size);
    }
  }
  return summed;
}

absl::StatusOr<Summed> Sum(const Snapshot& snapshot, const cli::Arguments& arguments) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Selection selection, Select(snapshot, arguments));
  const std::string of = arguments.Text("--of", "bytes");
  if (of == "churn") return SumHistory(selection);
  GRAPHTREE_ASSIGN_OR_RETURN(const HeldAt held, HoldingsOf(snapshot, selection, arguments));
  Summed summed;
  summed.moment = absl::StrCat("held ", held.moment);
  summed.counts = of == "blocks";
  for (const snapshot::Holding& holding : held.holdings) {
    summed.stacks.emplace_back(holding.stack, summed.counts ? 1 : holding.bytes);
  }
  return summed;
}

std::string ToJson(const Snapshot& snapshot, const Summed& summed, uint64_t total) {
  std::map<StackId, uint64_t> by_stack;
  for (const auto& [stack, value] : summed.stacks) by_stack[stack] += value;
  JsonWriter json;
  json.BeginObject().Key("moment").String(summed.moment);
  json.Key("unit").String(summed.counts ? "blocks" : "bytes").Key("total").Unsigned(total);
  json.Key("stacks").BeginArray();
  for (const auto& [stack, value] : by_stack) {
    json.BeginObject().Key("value").Unsigned(value).Key("stack");
    WriteStack(snapshot, stack, json);
    json.EndObject();
  }
  return json.EndArray().EndObject().text();
}

bool IsPicture(const cli::Arguments& arguments) {
  return arguments.Has("--svg") || absl::EndsWith(arguments.Text("--out", "-"), ".svg");
}

absl::Status Write(const Snapshot& snapshot, const Summed& summed, const cli::Arguments& arguments,
                   cli::Console& console) {
  FlameTree tree("all");
  for (const auto& [stack, value] : summed.stacks) {
    tree.Add(FramesOf(snapshot, stack, arguments.Has("--all-frames")), value);
  }
  const std::string out = arguments.Text("--out", "-");
  if (arguments.Has("--json")) {
    return cli::WriteOutput(out, ToJson(snapshot, summed, tree.root().value) + "\n", console);
  }
  if (!IsPicture(arguments)) return cli::WriteOutput(out, FoldedText(tree), console);
  FlameLook look;
  look.value = [&](uint64_t value) {
    return summed.counts ? Plural(value, "block", "blocks") : Bytes(value);
  };
  const std::string path = arguments.OperandAt(0);
  look.title = absl::StrCat(path.substr(path.find_last_of('/') + 1), ": ",
                            look.value(tree.root().value), " ", summed.moment);
  return cli::WriteOutput(out, RenderFlameSvg(tree, look), console);
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const std::string in = arguments.OperandAt(0);
  if (SameFile(in, arguments.Text("--out", "-"))) {
    console.err << "graphtree memory flame: " << SameFileText(in, arguments.Text("--out"));
    return cli::kWrongUse;
  }
  if (arguments.Has("--json") && IsPicture(arguments)) {
    console.err << "graphtree memory flame: --json and a picture are two outputs: ask for one\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(in, console);
  if (!loaded.ok()) return cli::BadInput(console, "memory flame", loaded.status());
  const auto summed = Sum(**loaded, arguments);
  if (!summed.ok() && summed.status().code() != absl::StatusCode::kInvalidArgument) {
    return cli::BadInput(console, "memory flame", summed.status());
  }
  if (!summed.ok()) {
    console.err << "graphtree memory flame: " << summed.status().message() << "\n";
    return cli::kWrongUse;
  }
  const absl::Status status = Write(**loaded, *summed, arguments, console);
  return status.ok() ? cli::kFine : cli::BadInput(console, "memory flame", status);
}

std::vector<cli::Option> Options() {
  std::vector<cli::Option> options = {
      {.name = "--of",
       .kind = cli::ValueKind::kChoice,
       .help = "What to add up: bytes held (the default), blocks held, or churn: all bytes that "
               "were allocated over the history.",
       .choices = {"bytes", "blocks", "churn"}},
      AtOption(),
      {.name = "--svg", .help = "Draw a picture; a file that ends in .svg is drawn anyway."},
      {.name = "--out",
       .kind = cli::ValueKind::kText,
       .value_name = "OUT",
       .help = "Where to write; the default is the standard output.",
       .short_name = "-o"},
      {.name = "--all-frames",
       .help = "Also the frames of the recorder, the interpreter and the dispatcher."}};
  for (cli::Option& option : SideOptions()) options.push_back(std::move(option));
  options.push_back(cli::JsonOption());
  return options;
}

}  // namespace

cli::Verb FlameVerb() {
  return {.name = "memory flame",
          .summary = "Write who holds memory as folded stacks or as a flame graph.",
          .description =
              "Folded stacks are one line each, outermost frame first, with the number of bytes "
              "behind it: what flame-graph tools read. With --svg, or where OUT ends in .svg, the "
              "same is a picture in one file: a click zooms, the search field lights up frames.\n\n"
              "--json writes: moment, unit, total, stacks (a list of value and stack).",
          .operands = {SnapshotOperand()},
          .options = Options(),
          .examples = {{"graphtree memory flame train.pickle --at peak -o peak.svg",
                        "a picture of who held what when most was held"},
                       {"graphtree memory flame train.pickle --of churn > churn.folded",
                        "folded stacks of everything that was allocated, for other tools"}},
          .run = Run};
}

}  // namespace graphtree::memory
