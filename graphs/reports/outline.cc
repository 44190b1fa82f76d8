// Draws an outline: as lines for people, as Graphviz, as JSON.
#include "graphs/reports/outline.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "device/base/json_writer.h"
#include "device/base/one_line.h"

namespace graphtree {
namespace {

constexpr uint32_t kLevelsAbreast = 24;
constexpr size_t kStaticsShown = 2;
constexpr char kLineEnd[] = "\n";  // our own, in a label; OneLine leaves none in names

// ", 3 sections (host, mask)"; empty for one.
std::string SectionsOf(const OutlineNode& node) {
  if (node.breaks.empty()) return "";
  return absl::StrCat(", ", node.breaks.size() + 1, " sections (",
                      OneLine(absl::StrJoin(node.breaks, ", ")), ")");
}

// "layer f32[4,64] | f32[64,64] at 0x7f00a0, f32[64] at 0x7f00b0 and 3 more"
std::string NameOf(const OutlineNode& node, absl::string_view separator) {
  std::string text = absl::StrCat(OneLine(node.function), separator, node.inputs);
  if (node.static_inputs.empty()) return text;
  const size_t shown = std::min(kStaticsShown, node.static_inputs.size());
  absl::StrAppend(&text, node.inputs.empty() ? "| " : " | ",
                  absl::StrJoin(node.static_inputs.begin(), node.static_inputs.begin() + shown,
                                ", "));
  const size_t more = node.static_inputs.size() - shown;
  return more == 0 ? text : absl::StrCat(text, " and ", more, " more");
}

// Where each row stands in the tree.
struct Shape {
  std::vector<uint32_t> levels;          // by row: how many rows are above it
  std::vector<bool> has_later_sibling;
};

Shape ShapeOf(const Outline& outline) {
  Shape shape;
  for (const OutlineNode& row : outline) {
    shape.levels.push_back(row.parent < 0 ? 0 : shape.levels[row.parent] + 1);
  }
  shape.has_later_sibling.resize(outline.size());
  std::vector<bool> has_child(outline.size() + 1);  // below this row; last: for roots
  for (size_t row = outline.size(); row-- > 0;) {
    const size_t parent = outline[row].parent < 0 ? outline.size() : outline[row].parent;
    shape.has_later_sibling[row] = has_child[parent];
    has_child[parent] = true;
  }
  return shape;
}

// The lines that lead to a row, from the left edge, or from where the drawing has begun again.
std::string Branches(const Outline& outline, const Shape& shape, size_t row) {
  if (outline[row].parent < 0) return "";
  const uint32_t begun = shape.levels[row] - shape.levels[row] % kLevelsAbreast;
  std::string text = shape.has_later_sibling[row] ? "|- " : "`- ";
  if (begun < shape.levels[row]) {
    const uint32_t leftmost = std::max(begun, 1u);
    for (int64_t at = outline[row].parent; shape.levels[at] >= leftmost; at = outline[at].parent) {
      text = absl::StrCat(shape.has_later_sibling[at] ? "|  " : "   ", text);
    }
  }
  return begun == 0 ? text : absl::StrCat("(", begun, " levels up) ", text);
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

}  // namespace

std::string DrawOutline(const Outline& outline) {
  const Shape shape = ShapeOf(outline);
  std::vector<std::string> left;
  size_t width = 0;
  for (size_t i = 0; i < outline.size(); ++i) {
    left.push_back(absl::StrCat(Branches(outline, shape, i), NameOf(outline[i], " ")));
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
    const std::string label = absl::StrCat(NameOf(node, kLineEnd), kLineEnd, node.replays,
                                           " replays, ", node.ops, " ops", SectionsOf(node));
    const std::string parent = node.parent < 0 ? "root" : absl::StrCat("n", node.parent);
    const std::string quoted = absl::StrReplaceAll(Quoted(label), {{kLineEnd, "\\n"}});
    absl::StrAppend(&text, "  n", i, " [label=", quoted, "];\n  ", parent, " -> n", i, ";\n");
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
    json.Key("inputs").String(node.inputs).Key("static_inputs").BeginArray();
    for (const std::string& input : node.static_inputs) json.String(input);
    json.EndArray().Key("replays").Unsigned(node.replays);
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
