// Pairs annotations.
#include "tools/memory/html_ranges.h"

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace graphtree::memory {

namespace words = snapshot::words;
using snapshot::Value;

void WriteHtmlRanges(const snapshot::Snapshot& snapshot, int64_t device, int64_t first_time,
                     JsonWriter& json) {
  json.Key("ranges").BeginArray();
  const auto annotations = snapshot.Get(words::kExternalAnnotations);
  const std::vector<Value>* list =
      annotations.has_value() ? snapshot.values.ListItems(*annotations) : nullptr;
  absl::flat_hash_map<snapshot::StringId, std::vector<int64_t>> open;
  for (const Value& item : list != nullptr ? *list : std::vector<Value>()) {
    const auto number = [&](snapshot::StringId key) -> std::optional<int64_t> {
      const auto value = snapshot.values.Get(item, key);
      return value.has_value() ? snapshot.values.AsInteger(*value) : std::nullopt;
    };
    const auto name = snapshot.values.Get(item, words::kName);
    const auto stage = snapshot.values.Get(item, words::kStage);
    const auto time = number(words::kTimeUs);
    if (number(words::kDevice) != device || !time.has_value()) continue;
    if (!name.has_value() || !name->is(Value::kString) || !stage.has_value()) continue;
    if (!stage->is(Value::kString)) continue;
    std::vector<int64_t>& starts = open[name->id()];
    if (snapshot.Text(stage->id()) == "START") {
      starts.push_back(*time - first_time);
    } else if (!starts.empty()) {
      json.BeginArray().String(snapshot.Text(name->id())).Integer(starts.back());
      json.Integer(*time - first_time).EndArray();
      starts.pop_back();
    }
  }
  json.EndArray();
}

}  // namespace graphtree::memory
