// Packs columns.
#include "tools/memory/html_columns.h"

#include <algorithm>

namespace graphtree::memory {

void HtmlColumns::Append(uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<char>((value & 127) | 128));
  bytes_.push_back(static_cast<char>(value));
}

void HtmlColumns::Describe(absl::string_view name, absl::string_view kind, size_t offset,
                           size_t count, JsonWriter& directory) const {
  directory.Key(name).BeginObject().Key("kind").String(kind);
  directory.Key("offset").Unsigned(offset).Key("length").Unsigned(bytes_.size() - offset);
  directory.Key("count").Unsigned(count).EndObject();
}

void HtmlColumns::Plain(absl::string_view name, const std::vector<uint64_t>& values,
                        JsonWriter& directory) {
  const auto differs = [&](uint64_t value) { return value != values.front(); };
  if (!values.empty() && std::none_of(values.begin(), values.end(), differs)) {
    directory.Key(name).BeginObject().Key("kind").String("constant");
    directory.Key("value").Unsigned(values.front());
    directory.Key("count").Unsigned(values.size()).EndObject();
    return;
  }
  const size_t offset = bytes_.size();
  for (const uint64_t value : values) Append(value);
  Describe(name, "plain", offset, values.size(), directory);
}

void HtmlColumns::Delta(absl::string_view name, const std::vector<uint64_t>& values,
                        JsonWriter& directory) {
  const size_t offset = bytes_.size();
  uint64_t last = 0;
  for (const uint64_t value : values) {
    const uint64_t step = value - last;
    const bool back = static_cast<int64_t>(step) < 0;
    Append(back ? ~(step << 1) : step << 1);
    last = value;
  }
  Describe(name, "delta", offset, values.size(), directory);
}

}  // namespace graphtree::memory
