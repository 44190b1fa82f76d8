// HtmlColumns: numbers packed into one run of bytes for the page that `memory html` writes.
//
// A million events are some twenty columns. Each column is a run of variable-length integers, seven
// bits a byte, low bits first:
//
//   plain       300, 5        -> [0xac 0x02] [0x05]
//   delta       1000, 1001    -> differences, folded so that small negatives are small: 0 -1 1 -2 2
//   constant    7, 7, 7       -> no bytes, the value stands in the directory
//
// The directory is JSON that the caller writes: each column adds one key to the object that is
// open. tools/memory/page/source/bytes.js reads both. Not thread-safe; cost: a few bytes a number.
#ifndef GRAPHTREE_TOOLS_MEMORY_HTML_COLUMNS_H_
#define GRAPHTREE_TOOLS_MEMORY_HTML_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/base/json_writer.h"

namespace graphtree::memory {

class HtmlColumns {
 public:
  void Plain(absl::string_view name, const std::vector<uint64_t>& values, JsonWriter& directory);
  // For numbers of which neighbours are near each other: times, starts, addresses.
  void Delta(absl::string_view name, const std::vector<uint64_t>& values, JsonWriter& directory);

  const std::string& bytes() const { return bytes_; }

 private:
  void Append(uint64_t value);
  void Describe(absl::string_view name, absl::string_view kind, size_t offset, size_t count,
                JsonWriter& directory) const;

  std::string bytes_;
};

}  // namespace graphtree::memory

#endif  // GRAPHTREE_TOOLS_MEMORY_HTML_COLUMNS_H_
