// Reads the tag with the snapshot's own JSON reader, into a store of its own.
#include "tools/snapshot/analysis/tag_field.h"

#include "absl/strings/match.h"
#include "allocator/snapshot/json_format.h"
#include "allocator/snapshot/snapshot.h"
#include "tools/snapshot/read/json_reader.h"
#include "tools/snapshot/read/record_builder.h"

namespace graphtree::snapshot {

std::optional<std::string> TagField(absl::string_view tag, absl::string_view field) {
  if (!absl::StartsWith(tag, "{")) return std::nullopt;
  Snapshot scratch;
  RecordBuilder builder(scratch);
  const auto parsed = ParseJsonValue(tag, builder, scratch);
  if (!parsed.ok()) return std::nullopt;
  const auto value = scratch.values.Get(*parsed, scratch.strings.Intern(field));
  if (!value.has_value()) return std::nullopt;
  if (value->is(Value::kString)) return std::string(scratch.Text(value->id()));
  const auto text = JsonOf(scratch, *value);
  if (!text.ok()) return std::nullopt;
  return *text;
}

}  // namespace graphtree::snapshot
