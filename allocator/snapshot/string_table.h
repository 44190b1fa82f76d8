// StringTable: every string of a snapshot once, named by a 32-bit id.
//
// Characters lie in chunks that never move, so a view stays valid as long as the table. The words
// of words.h come first, with fixed ids; id 0 is the empty string.
//
// Not safe for concurrent use while strings are added. Intern hashes the string once.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_STRING_TABLE_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_STRING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "allocator/snapshot/growing_array.h"
#include "allocator/snapshot/id_table.h"
#include "allocator/snapshot/words.h"

namespace graphtree::snapshot {

class StringTable {
 public:
  StringTable();

  StringId Intern(absl::string_view text);
  // kNoId when the table does not hold the text.
  StringId Find(absl::string_view text) const;
  absl::string_view operator[](StringId id) const {
    return {strings_[id].data, strings_[id].size};
  }
  size_t size() const { return strings_.size(); }
  size_t bytes() const { return strings_.bytes() + chunk_bytes_ + index_.bytes(); }

 private:
  struct Text {
    const char* data;
    size_t size;
  };
  struct OnlyWords {};

  explicit StringTable(OnlyWords);
  static const StringTable& Words();
  uint64_t Hash(absl::string_view text) const;

  const char* Copy(absl::string_view text);

  const uint64_t seed_ = HashSeed();
  const uint64_t other_seed_ = MixHash(seed_, 0);
  GrowingArray<Text> strings_;
  IdTable index_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  size_t chunk_bytes_ = 0;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_STRING_TABLE_H_
