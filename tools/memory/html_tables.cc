// Numbers for pools, streams and nodes.
#include "tools/memory/html_tables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphtree::memory {

using snapshot::Value;

uint64_t HtmlTables::Pool(snapshot::PoolId pool) {
  const auto [found, is_new] = pool_numbers_.try_emplace(pool, pools_.size());
  if (is_new) pools_.push_back(pool);
  return found->second;
}

uint64_t HtmlTables::Stream(Value stream) {
  const auto [found, is_new] = stream_numbers_.try_emplace(stream.bits(), streams_.size());
  if (is_new) streams_.push_back(snapshot::IntegerText(snapshot_.values, stream));
  return found->second;
}

uint64_t HtmlTables::Node(snapshot::ExtrasId extras) {
  const Value node = snapshot_.extras.Get(extras, snapshot::words::kNode).value_or(Value());
  const Value function = snapshot_.extras.Get(extras, function_).value_or(Value());
  if (node.is(Value::kNone) && function.is(Value::kNone)) return 0;
  const auto [found, is_new] =
      node_numbers_.try_emplace({node.bits(), function.bits()}, nodes_.size() + 1);
  if (is_new) {
    std::vector<std::string> parts;
    if (!node.is(Value::kNone)) parts.push_back(NodeText(node));
    if (function.is(Value::kString)) parts.emplace_back(snapshot_.Text(function.id()));
    nodes_.push_back(absl::StrJoin(parts, ", "));
  }
  return found->second;
}

std::string HtmlTables::NodeText(Value node) const {
  return node.is(Value::kString)
             ? std::string(snapshot_.Text(node.id()))
             : absl::StrCat("node ", snapshot::IntegerText(snapshot_.values, node));
}

void HtmlTables::Write(JsonWriter& json) const {
  json.Key("pools").BeginArray();
  for (const snapshot::PoolId id : pools_) {
    if (id == snapshot::kNoId) {
      json.Null();
      continue;
    }
    const auto [first, second] = snapshot_.Pool(id);
    json.BeginArray().Unsigned(first).Unsigned(second).EndArray();
  }
  json.EndArray().Key("streams").BeginArray();
  for (const std::string& stream : streams_) json.String(stream);
  json.EndArray().Key("nodes").BeginArray();
  for (const std::string& node : nodes_) json.String(node);
  json.EndArray();
}

}  // namespace graphtree::memory
