// Walks the nodes, and looks up which outputs are held.
#include "graphs/recording/node_memory.h"

#include <cstdint>
#include <memory>

#include "graphs/recording/outline_of.h"

namespace graphtree {
namespace {

NodeState StateOf(const Node& node, const Path& path) {
  if (&node == path.current()) return NodeState::kRanLast;
  for (const Node* at = path.current(); at != nullptr; at = at->parent) {
    if (at == &node) return NodeState::kOnPath;
  }
  return NodeState::kIdle;
}

SnapshotOutput OutputOf(const Node& node, uint32_t number, bool on_path, const Path& path) {
  const OutputRef reference = {node.level, number};
  SnapshotOutput output;
  output.output = number;
  output.range = node.outputs[number].block_range;
  for (const LiveBlock& live : node.live_after) {
    if (live.output == reference) output.block = live.block;
  }
  if (!on_path) return output;
  for (const HeldOutput& held : path.listed()) {
    if (held.output == reference) output.handles = held.storage->outside();
  }
  return output;
}

SnapshotNode RowOf(const Node& node, const OutlineNode& outline, const Path& path) {
  SnapshotNode row;
  row.id = node.id;
  row.parent = outline.parent < 0 ? -1 : static_cast<int64_t>(node.parent->id);
  row.level = node.level;
  row.function = outline.function;
  row.inputs = outline.inputs;
  row.state = StateOf(node, path);
  row.replays = outline.replays;
  row.executable_bytes = outline.executable_bytes;
  row.ranges = node.used;
  for (const LiveBlock& live : node.live_after) {
    if (live.output.level == node.level) row.blocks.push_back(live.block);
  }
  for (uint32_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].kind != OutputKind::kOwn) continue;
    row.outputs.push_back(OutputOf(node, i, row.state != NodeState::kIdle, path));
  }
  return row;
}

}  // namespace

// Depth first, like the outline. No recursion: paths may be hundreds of levels deep.
std::vector<SnapshotNode> NodeMemoryOf(const Node& root, const Path& path) {
  const Outline outline = OutlineOf(root);
  std::vector<SnapshotNode> rows;
  std::vector<const Node*> open = {&root};
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    if (&node != &root) rows.push_back(RowOf(node, outline[rows.size()], path));
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      open.push_back(child->get());
    }
  }
  return rows;
}

}  // namespace graphtree
