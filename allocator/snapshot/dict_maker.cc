// Keys and texts of dictionaries that are made here.
#include "allocator/snapshot/dict_maker.h"

#include "device/base/json_writer.h"

namespace graphtree::snapshot {

StringId InternText(Snapshot& snapshot, absl::string_view text) {
  return IsUtf8(text) ? snapshot.strings.Intern(text) : snapshot.strings.Intern(Utf8Of(text));
}

DictMaker& DictMaker::Columns(std::initializer_list<StringId> keys) {
  keys_.insert(keys_.end(), keys);
  return *this;
}

DictMaker& DictMaker::Add(absl::string_view key, Value value) {
  const StringId id = snapshot_.strings.Intern(key);
  keys_.push_back(id);
  items_.push_back({Value(Value::kString, id), value});
  return *this;
}

}  // namespace graphtree::snapshot
