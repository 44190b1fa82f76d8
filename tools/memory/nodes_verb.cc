// The tree with its bytes, and the outputs that are alive.
#include <algorithm>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/words.h"
#include "device/base/json_writer.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/text.h"
#include "tools/memory/verbs.h"
#include "tools/snapshot/analysis/nodes.h"

namespace graphtree::memory {
namespace {

using snapshot::NodeOutput;
using snapshot::NodeReport;
using snapshot::NodeRow;
using Side = Table::Side;

constexpr int64_t kShownByDefault = 100;

struct FunctionSum {
  uint64_t nodes = 0;
  uint64_t bytes = 0;
  uint64_t alone = 0;
  uint64_t live_bytes = 0;
  uint64_t replays = 0;
};

std::map<std::string, FunctionSum> ByFunction(const NodeReport& report) {
  std::map<std::string, FunctionSum> functions;
  for (const NodeRow& node : report.nodes) {
    FunctionSum& sum = functions[node.function.empty() ? "(not known)" : node.function];
    ++sum.nodes;
    sum.bytes += node.bytes;
    sum.alone += node.alone;
    sum.live_bytes += node.live_bytes;
    sum.replays += node.replays;
  }
  return functions;
}

void WriteNode(const NodeRow& node, JsonWriter& json) {
  json.BeginObject().Key("id").String(node.id).Key("parent").String(node.parent);
  json.Key("function").String(node.function).Key("inputs").String(node.inputs);
  json.Key("state").String(node.state).Key("replays").Unsigned(node.replays);
  json.Key("bytes").Unsigned(node.bytes).Key("alone_bytes").Unsigned(node.alone);
  json.Key("shared_bytes").Unsigned(node.shared()).Key("parked_bytes").Unsigned(node.parked);
  json.Key("live_bytes").Unsigned(node.live_bytes).Key("live_blocks").Unsigned(node.live_blocks);
  json.Key("executable_bytes").Unsigned(node.executable_bytes).Key("outputs").BeginArray();
  for (const NodeOutput& output : node.outputs) {
    json.BeginObject().Key("output").String(output.name);
    json.Key("address").Unsigned(output.address).Key("bytes").Unsigned(output.bytes);
    json.Key("alive").Bool(output.alive).Key("handles").Unsigned(output.handles);
    json.Key("holder").String(output.holder).EndObject();
  }
  json.EndArray().EndObject();
}

std::string ToJson(const NodeReport& report) {
  JsonWriter json;
  json.BeginObject().Key("has_tree").Bool(report.has_tree);
  json.Key("covered_bytes").Unsigned(report.covered);
  json.Key("live_without_node_bytes").Unsigned(report.live_without_node);
  json.Key("nodes").BeginArray();
  for (const NodeRow& node : report.nodes) WriteNode(node, json);
  json.EndArray().Key("functions").BeginArray();
  for (const auto& [name, sum] : ByFunction(report)) {
    json.BeginObject().Key("function").String(name).Key("nodes").Unsigned(sum.nodes);
    json.Key("bytes").Unsigned(sum.bytes).Key("alone_bytes").Unsigned(sum.alone);
    json.Key("live_bytes").Unsigned(sum.live_bytes).Key("replays").Unsigned(sum.replays);
    json.EndObject();
  }
  return json.EndArray().EndObject().text();
}

// The nodes to show: all, or those that use most, in the order of the tree.
std::vector<bool> Largest(const NodeReport& report, size_t limit) {
  std::vector<size_t> order(report.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::max(report.nodes[a].bytes, report.nodes[a].live_bytes) >
           std::max(report.nodes[b].bytes, report.nodes[b].live_bytes);
  });
  std::vector<bool> shown(order.size());
  for (size_t i = 0; i < order.size() && i < limit; ++i) shown[order[i]] = true;
  return shown;
}

void PrintRest(size_t all, size_t limit, absl::string_view one, absl::string_view many,
               std::ostream& out) {
  if (all <= limit) return;
  out << "  ... and " << Plural(all - limit, one, many) << "; --limit shows more\n";
}

bool HasState(const NodeRow& node) { return !node.state.empty() && node.state != "idle"; }

template <typename Predicate>
bool Any(const NodeReport& report, Predicate predicate) {
  return std::any_of(report.nodes.begin(), report.nodes.end(), predicate);
}

void PrintTree(const NodeReport& report, size_t limit, const Look& look, std::ostream& out) {
  const bool parked = Any(report, [](const NodeRow& node) { return node.parked > 0; });
  const bool state = Any(report, [](const NodeRow& node) { return HasState(node); });
  std::vector<Table::Column> columns = {{"node", Side::kLeft}, {"function", Side::kLeft},
                                        {"uses"}, {"alone"}, {"shared"}};
  if (parked) columns.push_back({"parked"});
  columns.insert(columns.end(), {{"live"}, {"executable"}, {"replays"}});
  if (state) columns.push_back({"path", Side::kLeft});
  Table table(std::move(columns));
  const std::vector<bool> shown = Largest(report, limit);
  for (size_t i = 0; i < shown.size(); ++i) {
    if (!shown[i]) continue;
    const NodeRow& node = report.nodes[i];
    std::vector<std::string> cells = {
        absl::StrCat(std::string(2 * std::min<size_t>(node.level, 20), ' '), node.id),
        absl::StrCat(node.function, node.inputs.empty() ? "" : " ", node.inputs),
        Bytes(node.bytes), Bytes(node.alone), Bytes(node.shared())};
    if (parked) cells.push_back(Bytes(node.parked));
    cells.push_back(Bytes(node.live_bytes));
    cells.push_back(Bytes(node.executable_bytes));
    cells.push_back(Count(node.replays));
    if (state) cells.push_back(HasState(node) ? node.state : "");
    table.Add(std::move(cells));
  }
  out << table.Render(look);
  PrintRest(shown.size(), limit, "node that uses less", "nodes that use less", out);
  out << Paragraph("uses: all that was allocated while it was recorded, live now or not. alone: "
                   "used by no other node, so forgetting the node gives it back. shared: used by "
                   "others at other times.", look);
  if (parked) out << "  parked: of it, what has addresses and no memory until the pool wakes.\n";
  if (state) out << "  path: the nodes that this step has run.\n";
}

void PrintFunctions(const NodeReport& report, const Look& look, std::ostream& out) {
  out << "\n" << look.Paint(Tone::kStrong, "By function") << "\n";
  Table table({{"function", Side::kLeft}, {"nodes"}, {"uses"}, {"alone"}, {"live"}, {"replays"}});
  for (const auto& [name, sum] : ByFunction(report)) {
    table.Add({name, Count(sum.nodes), Bytes(sum.bytes), Bytes(sum.alone), Bytes(sum.live_bytes),
               Count(sum.replays)});
  }
  out << table.Render(look);
}

void PrintOutputs(const NodeReport& report, size_t limit, const Look& look, std::ostream& out) {
  std::vector<std::pair<const NodeRow*, const NodeOutput*>> alive;
  for (const NodeRow& node : report.nodes) {
    for (const NodeOutput& output : node.outputs) {
      if (output.alive) alive.push_back({&node, &output});
    }
  }
  if (alive.empty()) {
    if (report.has_tree) out << "\n  No output of a node is held.\n";
    return;
  }
  std::stable_sort(alive.begin(), alive.end(), [](const auto& a, const auto& b) {
    return a.second->bytes > b.second->bytes;
  });
  Table table({{"node", Side::kLeft},
               {"output", Side::kLeft},
               {"address", Side::kLeft},
               {"bytes"},
               {"handles"},
               {"held by", Side::kLeft}});
  for (size_t i = 0; i < alive.size() && i < limit; ++i) {
    const auto& [node, output] = alive[i];
    table.Add({node->id, output->name, Address(output->address), Bytes(output->bytes),
               Count(output->handles), output->holder.empty() ? "the program" : output->holder});
  }
  out << "\n" << look.Paint(Tone::kStrong, "Outputs that are alive") << "\n" << table.Render(look);
  PrintRest(alive.size(), limit, "smaller one", "smaller ones", out);
}

void PrintText(const NodeReport& report, size_t limit, const Look& look, std::ostream& out) {
  if (report.has_tree) {
    PrintTree(report, limit, look, out);
    uint64_t sum = 0;
    for (const NodeRow& node : report.nodes) sum += node.bytes;
    out << "\n  All nodes together use " << Bytes(report.covered) << ", and would use "
        << Bytes(sum) << " if they shared nothing.\n";
  } else {
    Table table({{"node", Side::kLeft}, {"function", Side::kLeft}, {"live"}, {"blocks"}});
    const std::vector<bool> shown = Largest(report, limit);
    for (size_t i = 0; i < shown.size(); ++i) {
      if (!shown[i]) continue;
      const NodeRow& node = report.nodes[i];
      table.Add({node.id, node.function, Bytes(node.live_bytes), Count(node.live_blocks)});
    }
    out << table.Render(look);
    PrintRest(shown.size(), limit, "node with less", "nodes with less", out);
    out << "  The snapshot lists no tree: only live blocks are known, by the node that allocated "
           "them.\n";
  }
  PrintFunctions(report, look, out);
  PrintOutputs(report, limit, look, out);
  if (report.live_without_node != 0) {
    out << "\n  " << Bytes(report.live_without_node) << " are live without belonging to a node"
        << (report.has_tree ? ": warm-ups, eager runs and kept outputs.\n" : ".\n");
  }
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  if (arguments.Integer("--limit", 1) < 1) {
    console.err << "graphtree memory nodes: --limit counts from 1\n";
    return cli::kWrongUse;
  }
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory nodes", loaded.status());
  const NodeReport report = snapshot::NodesOf(**loaded);
  if (arguments.Has("--json")) {
    console.out << ToJson(report) << "\n";
    return cli::kFine;
  }
  if (report.nodes.empty()) {
    const bool ours = (*loaded)->Get(snapshot::words::kGraphtree).has_value();
    const std::string why =
        ours ? "The snapshot is one of ours, of a pool alone: it lists no tree, and no live block "
               "says its node."
             : "The snapshot has no tree nodes: only Graphtree's own can have them.";
    console.out << Paragraph(why + " `graphtree memory top` groups by stack.",
                             LookOf(arguments, console), 0);
    return cli::kFine;
  }
  PrintText(report, static_cast<size_t>(arguments.Integer("--limit", kShownByDefault)),
            LookOf(arguments, console), console.out);
  return cli::kFine;
}

}  // namespace

cli::Verb NodesVerb() {
  return {.name = "memory nodes",
          .summary = "Show bytes by tree node and function in a snapshot of our own.",
          .description =
              "For every node of the tree: the bytes that its recording uses, which of them no "
              "other node uses, what is shared with its siblings, parked and live; the same by "
              "function; and the outputs that are alive, with who holds them.\n\n"
              "--json writes: has_tree, covered_bytes, live_without_node_bytes, nodes (id, parent, "
              "function, inputs, state, replays, bytes, alone_bytes, shared_bytes, parked_bytes, "
              "live_bytes, live_blocks, executable_bytes, outputs), functions.",
          .operands = {SnapshotOperand()},
          .options = {{.name = "--limit",
                       .kind = cli::ValueKind::kInteger,
                       .value_name = "N",
                       .help = "Show the N nodes that use most, and as many outputs (default 100; "
                               "all with --json)."},
                      cli::JsonOption(),
                      ColorOption()},
          .examples = {{"graphtree memory nodes server.pickle", "whose memory it is"}},
          .run = Run};
}

}  // namespace graphtree::memory
