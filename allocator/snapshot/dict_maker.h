// DictMaker: the dictionaries of a snapshot that is made here and not read from a file.
//
//   DictMaker(snapshot).Unsigned("id", 3).Text("function", name).Dict()
//                    one value, for data that rows have no columns for
//   DictMaker(snapshot).Columns({words::kAddress, words::kSize}).Text("tag", tag).KeysInto(block)
//                    the keys of a row, in their order: the values of `Columns` stand in the row's
//                    own columns, all others go into its extras
//
// Texts are UTF-8 in every form of a file, so a byte that is none becomes U+FFFD.
//
// Adds to the snapshot, so not safe for concurrent use. Costs a hash for each key.
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_DICT_MAKER_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_DICT_MAKER_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"
#include "allocator/snapshot/value.h"
#include "allocator/snapshot/words.h"

namespace graphtree::snapshot {

// The id of a text that comes from outside, and may not be UTF-8.
StringId InternText(Snapshot& snapshot, absl::string_view text);

class DictMaker {
 public:
  explicit DictMaker(Snapshot& snapshot) : snapshot_(snapshot) {}

  DictMaker& Columns(std::initializer_list<StringId> keys);
  DictMaker& Add(absl::string_view key, Value value);
  DictMaker& Text(absl::string_view key, absl::string_view text) {
    return Add(key, Value(Value::kString, InternText(snapshot_, text)));
  }
  DictMaker& Integer(absl::string_view key, int64_t value) {
    return Add(key, snapshot_.values.Integer(value));
  }
  DictMaker& Unsigned(absl::string_view key, uint64_t value) {
    return Add(key, snapshot_.values.Unsigned(value));
  }
  DictMaker& Bool(absl::string_view key, bool value) {
    return Add(key, Value(Value::kBool, value ? 1 : 0));
  }

  // The keys that were added, without those of `Columns`.
  const std::vector<DictItem>& items() const { return items_; }
  Value Dict() const { return snapshot_.values.Dict(items_); }

  // A row of any kind, or the details of a trace's entry.
  template <typename Row>
  void KeysInto(Row& row) const {
    row.shape = snapshot_.shapes.Intern(keys_);
    row.extras = items_.empty() ? 0 : snapshot_.extras.Intern(items_);
  }

 private:
  Snapshot& snapshot_;
  std::vector<StringId> keys_;
  std::vector<DictItem> items_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_DICT_MAKER_H_
