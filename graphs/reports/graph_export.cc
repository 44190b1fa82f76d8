// Writes one row for each op.
#include "graphs/reports/graph_export.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "device/base/json_writer.h"
#include "device/base/one_line.h"

namespace graphtree {
namespace {

std::string Hex(uint64_t word) { return absl::StrFormat("%#x", word); }

void WriteDim(absl::string_view key, const Dim3& dim, JsonWriter& json) {
  json.Key(key).BeginArray().Unsigned(dim.x).Unsigned(dim.y).Unsigned(dim.z).EndArray();
}

// Up to eight bytes are written as one little-endian word, more as the bytes in their order.
std::string ParameterText(const Op& op, const ParamSlot& slot) {
  std::string digits;
  for (uint32_t i = 0; i < slot.bytes; ++i) {
    const uint32_t at = slot.bytes <= 8 ? slot.bytes - 1 - i : i;
    absl::StrAppendFormat(&digits, "%02x", op.argument_bytes[slot.offset + at]);
  }
  return absl::StrCat("0x", digits);
}

void WriteKernel(const Op& op, JsonWriter& json) {
  WriteDim("grid", op.shape.grid, json);
  WriteDim("block", op.shape.block, json);
  json.Key("shared_bytes").Unsigned(op.shape.shared_bytes);
  json.Key("parameters").BeginArray();
  for (const ParamSlot& slot : op.parameters) json.String(ParameterText(op, slot));
  json.EndArray();
}

void WriteWhatItDoes(const Op& op, JsonWriter& json) {
  switch (op.kind) {
    case OpKind::kKernel:
      return WriteKernel(op, json);
    case OpKind::kCopy:
      json.Key("target").String(Hex(op.copy.target)).Key("source").String(Hex(op.copy.source));
      json.Key("bytes").Unsigned(op.copy.bytes);
      return;
    case OpKind::kFill:
      json.Key("target").String(Hex(op.fill.target)).Key("value").Unsigned(op.fill.value);
      json.Key("width").Unsigned(op.fill.width).Key("count").Unsigned(op.fill.count);
      return;
    case OpKind::kHost:
    case OpKind::kEmpty:
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kChildGraph:
    case OpKind::kAllocate:
    case OpKind::kFree:
    case OpKind::kConditional:
    case OpKind::kOther:
      return;
  }
}

void WriteOp(const Op& op, JsonWriter& json) {
  json.BeginObject().Key("id").Unsigned(op.id).Key("kind").String(OpKindName(op.kind));
  json.Key("name").String(op.name);
  WriteWhatItDoes(op, json);
  json.Key("dependencies").BeginArray();
  for (const Edge& edge : op.dependencies) {
    json.BeginObject().Key("from").Unsigned(edge.from);
    json.Key("kind").String(edge.kind == EdgeKind::kFull ? "full" : "programmatic");
    json.Key("from_port").Unsigned(edge.from_port).Key("to_port").Unsigned(edge.to_port);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

// Text for a label in quotes. In a label "\n" breaks the line, so one in a name is escaped.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(OneLine(text), {{"\\", "\\\\"}, {"\"", "\\\""}});
}

std::string LabelOf(const Op& op) {
  const std::string name = absl::StrCat(op.id, " ", Escaped(op.name));
  switch (op.kind) {
    case OpKind::kKernel:
      return absl::StrFormat("%s\\n%dx%dx%d of %dx%dx%d", name, op.shape.grid.x, op.shape.grid.y,
                             op.shape.grid.z, op.shape.block.x, op.shape.block.y,
                             op.shape.block.z);
    case OpKind::kCopy: return absl::StrCat(name, "\\n", op.copy.bytes, " bytes");
    case OpKind::kFill:
      return absl::StrCat(name, "\\n", op.fill.count * op.fill.width, " bytes");
    case OpKind::kHost:
    case OpKind::kEmpty:
    case OpKind::kEventRecord:
    case OpKind::kEventWait:
    case OpKind::kChildGraph:
    case OpKind::kAllocate:
    case OpKind::kFree:
    case OpKind::kConditional:
    case OpKind::kOther: return name;
  }
  return name;
}

}  // namespace

std::string OpsAsJson(absl::string_view name, const std::vector<Op>& ops) {
  JsonWriter json;
  json.BeginObject().Key("name").String(name).Key("ops").BeginArray();
  for (const Op& op : ops) WriteOp(op, json);
  json.EndArray().EndObject();
  return json.text();
}

std::string OpsAsGraphviz(absl::string_view name, const std::vector<Op>& ops) {
  std::string text = absl::StrCat("digraph graph_of_ops {\n  label=\"", Escaped(name),
                                  "\";\n  node [shape=box, fontname=\"monospace\"];\n");
  for (const Op& op : ops) {
    absl::StrAppend(&text, "  op", op.id, " [label=\"", LabelOf(op), "\"];\n");
    for (const Edge& edge : op.dependencies) {
      absl::StrAppend(&text, "  op", edge.from, " -> op", op.id,
                      edge.kind == EdgeKind::kProgrammatic ? " [style=dashed];\n" : ";\n");
    }
  }
  return absl::StrCat(text, "}\n");
}

}  // namespace graphtree
