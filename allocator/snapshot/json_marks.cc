// Which keys need an escape.
#include "allocator/snapshot/json_marks.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace graphtree::snapshot {

bool IsEscapedKey(absl::string_view key, bool with_tuples) {
  if (!absl::StartsWith(key, kEscape)) return false;
  if (with_tuples) return true;
  key.remove_prefix(std::min(key.find_first_not_of(kEscape), key.size()));
  return key == kBytesKey.substr(kEscape.size()) || key == kDictKey.substr(kEscape.size());
}

}  // namespace graphtree::snapshot
