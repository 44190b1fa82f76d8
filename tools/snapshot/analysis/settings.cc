// Reads the dictionary `allocator_settings`; keys that are missing keep their defaults.
#include "tools/snapshot/analysis/settings.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace graphtree::snapshot {
namespace {

std::optional<Value> Setting(const Snapshot& snapshot, absl::string_view name) {
  const auto settings = snapshot.Get(words::kAllocatorSettings);
  const StringId key = snapshot.strings.Find(name);
  if (!settings.has_value() || key == kNoId) return std::nullopt;
  return snapshot.values.Get(*settings, key);
}

}  // namespace

Settings SettingsOf(const Snapshot& snapshot) {
  Settings settings;
  const auto all = snapshot.Get(words::kAllocatorSettings);
  const std::vector<DictItem>* items =
      all.has_value() ? snapshot.values.DictItems(*all) : nullptr;
  settings.known = items != nullptr && !items->empty();
  if (const auto text = Setting(snapshot, "PYTORCH_CUDA_ALLOC_CONF");
      text.has_value() && text->is(Value::kString)) {
    settings.config = std::string(snapshot.Text(text->id()));
  }
  if (const auto flag = Setting(snapshot, "expandable_segments");
      flag.has_value() && flag->is(Value::kBool)) {
    settings.expandable_segments = flag->payload() != 0;
  }
  if (const auto size = Setting(snapshot, "max_split_size"); size.has_value()) {
    settings.max_split_size = snapshot.values.AsInteger(*size).value_or(-1);
  }
  if (const auto share = Setting(snapshot, "garbage_collection_threshold");
      share.has_value() && share->is(Value::kDouble)) {
    settings.garbage_collection_threshold = snapshot.values.AsDouble(*share);
  }
  if (const auto parts = Setting(snapshot, "roundup_power2_divisions"); parts.has_value()) {
    const std::vector<DictItem>* sizes = snapshot.values.DictItems(*parts);
    for (size_t i = 0; sizes != nullptr && i < sizes->size(); ++i) {
      const auto count = snapshot.values.AsInteger((*sizes)[i].value);
      settings.rounds_to_power2_parts |= count.value_or(0) > 1;
    }
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> ParseConfig(absl::string_view config) {
  std::vector<std::pair<std::string, std::string>> options;
  int depth = 0;
  std::string option;
  const auto finish = [&] {
    const std::string trimmed(absl::StripAsciiWhitespace(option));
    option.clear();
    if (trimmed.empty()) return;
    const size_t colon = trimmed.find(':');
    options.push_back({trimmed.substr(0, colon),
                       colon == std::string::npos ? "" : trimmed.substr(colon + 1)});
  };
  for (char c : config) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth <= 0) {
      finish();
    } else {
      option.push_back(c);
    }
  }
  finish();
  return options;
}

}  // namespace graphtree::snapshot
