// The nodes as dictionaries.
#include "allocator/reports/snapshot_nodes_writer.h"

#include <vector>

#include "allocator/snapshot/dict_maker.h"

namespace graphtree {
namespace {

using snapshot::DictMaker;
using snapshot::Value;

const char* StateName(NodeState state) {
  switch (state) {
    case NodeState::kIdle: return "idle";
    case NodeState::kOnPath: return "on the path";
    case NodeState::kRanLast: return "ran last";
  }
  return "?";
}

Value OutputDict(const SnapshotOutput& output, const std::string& holder,
                 snapshot::Snapshot& snapshot) {
  return DictMaker(snapshot)
      .Unsigned("output", output.output)
      .Unsigned("address", output.range.base)
      .Unsigned("bytes", output.range.bytes)
      .Bool("alive", output.handles > 0)
      .Unsigned("handles", output.handles)
      .Text("holder", holder)
      .Dict();
}

}  // namespace

Value ListOfRanges(absl::Span<const AddressRange> ranges, snapshot::Snapshot& snapshot) {
  snapshot::ValueStore& values = snapshot.values;
  std::vector<Value> list;
  for (const AddressRange& range : ranges) {
    const Value both[] = {values.Unsigned(range.base), values.Unsigned(range.bytes)};
    list.push_back(values.List(both, 2));
  }
  return values.List(list.data(), list.size());
}

Value ListOfNodes(absl::Span<const SnapshotNode> nodes,
                  const std::function<std::string(const SnapshotOutput&)>& holder,
                  snapshot::Snapshot& snapshot) {
  snapshot::ValueStore& values = snapshot.values;
  std::vector<Value> list;
  for (const SnapshotNode& node : nodes) {
    std::vector<Value> outputs;
    for (const SnapshotOutput& output : node.outputs) {
      outputs.push_back(OutputDict(output, output.handles > 0 ? holder(output) : "", snapshot));
    }
    list.push_back(DictMaker(snapshot)
                       .Unsigned("id", node.id)
                       .Add("parent", node.parent < 0 ? Value() : values.Integer(node.parent))
                       .Unsigned("level", node.level)
                       .Text("function", node.function)
                       .Text("inputs", node.inputs)
                       .Text("state", StateName(node.state))
                       .Unsigned("replays", node.replays)
                       .Unsigned("executable_bytes", node.executable_bytes)
                       .Add("ranges", ListOfRanges(node.ranges, snapshot))
                       .Add("outputs", values.List(outputs.data(), outputs.size()))
                       .Dict());
  }
  return values.List(list.data(), list.size());
}

}  // namespace graphtree
