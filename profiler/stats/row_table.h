// RowTable: rows by their keys, in the order in which the keys came, up to a limit.
//
// Not safe for concurrent use. Costs a look into a hash table.
#ifndef GRAPHTREE_PROFILER_STATS_ROW_TABLE_H_
#define GRAPHTREE_PROFILER_STATS_ROW_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace graphtree::trace {

template <typename Key, typename Row, size_t kMostRows>
class RowTable {
 public:
  const std::vector<Row>& rows() const { return rows_; }
  Row& operator[](uint32_t number) { return rows_[number]; }
  uint32_t NumberOf(const Row& row) const { return static_cast<uint32_t>(&row - rows_.data()); }

  // The row of the key, which is a new one if there was none; null where there is no room for it.
  // Rows may move when one is added.
  Row* Find(const Key& key, bool* is_new) {
    const auto found = numbers_.find(key);
    *is_new = found == numbers_.end();
    if (!*is_new) return &rows_[found->second];
    if (rows_.size() >= kMostRows) return nullptr;
    numbers_[key] = static_cast<uint32_t>(rows_.size());
    return &rows_.emplace_back();
  }
  // Where a new row needs nothing that an old one has not.
  Row* Find(const Key& key) {
    bool is_new = false;
    return Find(key, &is_new);
  }

 private:
  std::vector<Row> rows_;
  absl::flat_hash_map<Key, uint32_t> numbers_;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_ROW_TABLE_H_
