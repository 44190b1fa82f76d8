// The tree with its bytes, and the outputs that are alive.
#include "tools/memory/nodes_verb.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/analysis/nodes.h"
#include "device/base/json_writer.h"
#include "tools/cli/arguments.h"
#include "tools/cli/registry.h"
#include "tools/memory/load.h"
#include "tools/memory/text.h"

namespace graphtree::memory {
namespace {

using snapshot::NodeOutput;
using snapshot::NodeReport;
using snapshot::NodeRow;
using Side = Table::Side;

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
  json.Key("function").String(node.function).Key("replays").Unsigned(node.replays);
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

void PrintTree(const NodeReport& report, const Look& look, std::ostream& out) {
  Table table({{"node", Side::kLeft},
               {"function", Side::kLeft},
               {"uses"},
               {"alone"},
               {"shared"},
               {"parked"},
               {"live"},
               {"executable"},
               {"replays"}});
  for (const NodeRow& node : report.nodes) {
    table.Add({absl::StrCat(std::string(2 * std::min<size_t>(node.level, 20), ' '), node.id),
               node.function, Bytes(node.bytes), Bytes(node.alone), Bytes(node.shared()),
               Bytes(node.parked), Bytes(node.live_bytes), Bytes(node.executable_bytes),
               Count(node.replays)});
  }
  out << table.Render(look)
      << "  uses: all that its recording touches, live now or not. alone: used by no other node, "
         "so forgetting the node\n  gives it back. shared: used by others at other times.\n";
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

void PrintOutputs(const NodeReport& report, const Look& look, std::ostream& out) {
  Table table({{"node", Side::kLeft},
               {"output", Side::kLeft},
               {"address", Side::kLeft},
               {"bytes"},
               {"handles"},
               {"held by", Side::kLeft}});
  for (const NodeRow& node : report.nodes) {
    for (const NodeOutput& output : node.outputs) {
      if (!output.alive) continue;
      table.Add({node.id, output.name, Address(output.address), Bytes(output.bytes),
                 Count(output.handles), output.holder});
    }
  }
  if (table.empty()) return;
  out << "\n" << look.Paint(Tone::kStrong, "Outputs that are alive") << "\n" << table.Render(look);
}

void PrintText(const NodeReport& report, const Look& look, std::ostream& out) {
  if (report.has_tree) {
    PrintTree(report, look, out);
    out << "\n  All nodes together use " << Bytes(report.covered) << ".\n";
  } else {
    Table table({{"node", Side::kLeft}, {"function", Side::kLeft}, {"live"}, {"blocks"}});
    for (const NodeRow& node : report.nodes) {
      table.Add({node.id, node.function, Bytes(node.live_bytes), Count(node.live_blocks)});
    }
    out << table.Render(look)
        << "  The snapshot lists no tree: only live blocks are known, by the node that allocated "
           "them.\n";
  }
  PrintFunctions(report, look, out);
  PrintOutputs(report, look, out);
  if (report.live_without_node != 0) {
    out << "\n  " << Bytes(report.live_without_node) << " are live without belonging to a node.\n";
  }
}

int Run(const cli::Arguments& arguments, cli::Console& console) {
  const auto loaded = Load(arguments.OperandAt(0), console);
  if (!loaded.ok()) return cli::BadInput(console, "memory nodes", loaded.status());
  const NodeReport report = snapshot::NodesOf(**loaded);
  if (arguments.Has("--json")) {
    console.out << ToJson(report) << "\n";
    return cli::kFine;
  }
  if (report.nodes.empty()) {
    console.out << "The snapshot has no tree nodes: they are written by Graphtree's own snapshots "
                   "only. `graphtree memory top` groups by stack.\n";
    return cli::kFine;
  }
  PrintText(report, LookOf(arguments, console), console.out);
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
              "function, replays, bytes, alone_bytes, shared_bytes, parked_bytes, live_bytes, "
              "live_blocks, executable_bytes, outputs), functions.",
          .operands = {SnapshotOperand()},
          .options = {cli::JsonOption(), ColorOption()},
          .examples = {{"graphtree memory nodes server.pickle", "whose memory it is"}},
          .run = Run};
}

}  // namespace graphtree::memory
