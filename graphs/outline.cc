// Walks the nodes, and draws the rows.
#include "graphs/outline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "device/base/json_writer.h"
#include "graphs/node.h"

namespace graphtree {
namespace {

std::string TextOf(const Value& value) {
  if (value.is_none()) return "none";
  if (value.is_integer()) return absl::StrCat(value.integer());
  if (value.has_version()) return absl::StrCat("version ", value.word());
  if (value.is_opaque()) return "opaque";
  return value.layout()->ToString();
}

// Equal neighbours are counted: "i32[4] x3".
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

OutlineNode RowOf(const Node& node, int64_t parent) {
  OutlineNode row;
  row.id = node.id;
  row.parent = parent;
  row.level = node.level;
  row.function = node.variant->function->name;
  row.inputs = InputsOf(node);
  row.replays = node.replays;
  row.outputs = node.outputs.size();
  row.ops = node.op_count();
  for (const IngestOp& ingest : node.section.ingest) row.copied_inputs += ingest.inputs.size();
  row.executable_bytes = node.device_bytes();
  for (const Cut& cut : node.cuts) row.breaks.push_back(cut.part.why);
  return row;
}

// ", 3 sections (host, mask)"; empty for one.
std::string SectionsOf(const OutlineNode& node) {
  if (node.breaks.empty()) return "";
  return absl::StrCat(", ", node.breaks.size() + 1, " sections (",
                      absl::StrJoin(node.breaks, ", "), ")");
}

bool HasLaterSibling(const Outline& outline, size_t row) {
  for (size_t later = row + 1; later < outline.size(); ++later) {
    if (outline[later].parent == outline[row].parent) return true;
  }
  return false;
}

// The lines that lead to a row, from the left edge.
std::string Branches(const Outline& outline, size_t row) {
  if (outline[row].parent < 0) return "";
  std::string text = HasLaterSibling(outline, row) ? "|- " : "`- ";
  for (int64_t at = outline[row].parent; outline[at].parent >= 0; at = outline[at].parent) {
    text = absl::StrCat(HasLaterSibling(outline, at) ? "|  " : "   ", text);
  }
  return text;
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

}  // namespace

// A stack of its own: paths may be hundreds of levels deep.
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

std::string DrawOutline(const Outline& outline) {
  std::vector<std::string> left;
  size_t width = 0;
  for (size_t i = 0; i < outline.size(); ++i) {
    left.push_back(
        absl::StrCat(Branches(outline, i), outline[i].function, " ", outline[i].inputs));
    width = std::max(width, left.back().size());
  }
  std::string text;
  for (size_t i = 0; i < outline.size(); ++i) {
    absl::StrAppendFormat(&text, "%-*s  %6d replay%s  %5d ops%s\n", static_cast<int>(width),
                          left[i], outline[i].replays, outline[i].replays == 1 ? " " : "s",
                          outline[i].ops, SectionsOf(outline[i]));
  }
  return text;
}

std::string OutlineAsGraphviz(const Outline& outline) {
  std::string text =
      "digraph tree {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n  root "
      "[shape=point];\n";
  for (size_t i = 0; i < outline.size(); ++i) {
    const OutlineNode& node = outline[i];
    const std::string label = absl::StrCat(node.function, "\n", node.inputs, "\n", node.replays,
                                           " replays, ", node.ops, " ops",
                                           SectionsOf(node));
    const std::string parent = node.parent < 0 ? "root" : absl::StrCat("n", node.parent);
    absl::StrAppend(&text, "  n", i, " [label=",
                    absl::StrReplaceAll(Quoted(label), {{"\n", "\\n"}}), "];\n  ", parent, " -> n",
                    i, ";\n");
  }
  return absl::StrCat(text, "}\n");
}

std::string OutlineAsJson(const Outline& outline) {
  JsonWriter json;
  json.BeginObject().Key("nodes").BeginArray();
  for (const OutlineNode& node : outline) {
    json.BeginObject().Key("id").Unsigned(node.id).Key("parent");
    node.parent < 0 ? json.Null() : json.Integer(node.parent);
    json.Key("level").Unsigned(node.level).Key("function").String(node.function);
    json.Key("inputs").String(node.inputs).Key("replays").Unsigned(node.replays);
    json.Key("ops").Unsigned(node.ops).Key("copied_inputs").Unsigned(node.copied_inputs);
    json.Key("outputs").Unsigned(node.outputs);
    json.Key("executable_bytes").Unsigned(node.executable_bytes).Key("breaks").BeginArray();
    for (const std::string& why : node.breaks) json.String(why);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace graphtree
