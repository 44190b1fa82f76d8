// The nodes as JSON.
#include "allocator/snapshot_nodes.h"

namespace graphtree {
namespace {

const char* StateName(NodeState state) {
  switch (state) {
    case NodeState::kIdle: return "idle";
    case NodeState::kOnPath: return "on the path";
    case NodeState::kRanLast: return "ran last";
  }
  return "?";
}

void WriteOutput(const SnapshotOutput& output, const std::string& holder, JsonWriter& json) {
  json.BeginObject().Key("output").Unsigned(output.output);
  json.Key("address").Unsigned(output.range.base).Key("bytes").Unsigned(output.range.bytes);
  json.Key("alive").Bool(output.handles > 0).Key("handles").Unsigned(output.handles);
  json.Key("holder").String(holder).EndObject();
}

}  // namespace

void WriteSnapshotNodes(absl::Span<const SnapshotNode> nodes,
                        const std::function<std::string(const SnapshotOutput&)>& holder,
                        JsonWriter& json) {
  json.BeginArray();
  for (const SnapshotNode& node : nodes) {
    json.BeginObject().Key("id").Unsigned(node.id).Key("parent");
    if (node.parent < 0) {
      json.Null();
    } else {
      json.Integer(node.parent);
    }
    json.Key("level").Unsigned(node.level).Key("function").String(node.function);
    json.Key("inputs").String(node.inputs);
    json.Key("state").String(StateName(node.state)).Key("replays").Unsigned(node.replays);
    json.Key("executable_bytes").Unsigned(node.executable_bytes).Key("ranges").BeginArray();
    for (const AddressRange& range : node.ranges) {
      json.BeginArray().Unsigned(range.base).Unsigned(range.bytes).EndArray();
    }
    json.EndArray().Key("outputs").BeginArray();
    for (const SnapshotOutput& output : node.outputs) {
      WriteOutput(output, output.handles > 0 ? holder(output) : "", json);
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

}  // namespace graphtree
