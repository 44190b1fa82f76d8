// Walks the nodes and writes a row for each.
#include "graphs/recording/outline_of.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

std::string TextOf(const Value& value) {
  if (value.is_none()) return "none";
  if (value.is_integer()) return absl::StrCat(value.integer());
  if (value.has_version()) return absl::StrCat("version ", value.word());
  if (value.is_opaque()) return "opaque";
  return value.layout()->ToString();
}

// The inputs that are not static. Equal neighbours are counted: "i32[4] x3".
std::string InputsOf(const Node& node) {
  std::vector<std::pair<std::string, int>> runs;
  for (size_t i = 0; i < node.variant->key.size(); ++i) {
    if (i < node.roles.size() && node.roles[i] == InputRole::kStatic) continue;
    std::string text = TextOf(node.variant->key[i]);
    if (!runs.empty() && runs.back().first == text) {
      ++runs.back().second;
    } else {
      runs.push_back({std::move(text), 1});
    }
  }
  std::string all;
  for (const auto& [text, count] : runs) {
    absl::StrAppend(&all, all.empty() ? "" : " ", text, count > 1 ? absl::StrCat(" x", count) : "");
  }
  return all;
}

// The static inputs. Their addresses tell the recordings of one function for many layers apart.
std::vector<std::string> StaticInputsOf(const Node& node) {
  std::vector<std::string> all;
  for (size_t i = 0; i < node.roles.size(); ++i) {
    if (node.roles[i] != InputRole::kStatic) continue;
    const RecordedInput& row = node.inputs.rows()[i];
    all.push_back(absl::StrCat(row.layout->ToString(), " at 0x", absl::Hex(row.word)));
  }
  return all;
}

OutlineNode RowOf(const Node& node, int64_t parent) {
  OutlineNode row;
  row.id = node.id;
  row.parent = parent;
  row.level = node.level;
  row.function = node.variant->function->name;
  row.inputs = InputsOf(node);
  row.static_inputs = StaticInputsOf(node);
  row.replays = node.replays;
  row.outputs = node.outputs.size();
  row.ops = node.op_count();
  for (const IngestOp& ingest : node.section.ingest) row.copied_inputs += ingest.inputs.size();
  row.executable_bytes = node.device_bytes();
  for (const Cut& cut : node.cuts) row.breaks.push_back(cut.part.why);
  return row;
}

}  // namespace

// Uses a list and no recursion: paths may be hundreds of levels deep.
Outline OutlineOf(const Node& root) {
  Outline outline;
  std::vector<std::pair<const Node*, int64_t>> open;
  const auto push_children = [&](const Node& node, int64_t row) {
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      open.push_back({child->get(), row});
    }
  };
  push_children(root, -1);
  while (!open.empty()) {
    const auto [node, parent] = open.back();
    open.pop_back();
    outline.push_back(RowOf(*node, parent));
    push_children(*node, static_cast<int64_t>(outline.size()) - 1);
  }
  return outline;
}

}  // namespace graphtree
