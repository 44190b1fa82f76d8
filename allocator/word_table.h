// Words (tags, notes, stacks as text), each kept once and named by a number; 0 is the empty word.
// Threads: none. Cost: a hash of the text; callers keep the number.
#ifndef GRAPHTREE_ALLOCATOR_WORD_TABLE_H_
#define GRAPHTREE_ALLOCATOR_WORD_TABLE_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace graphtree {

class WordTable {
 public:
  WordTable() { Intern(""); }

  uint32_t Intern(absl::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const uint32_t id = static_cast<uint32_t>(words_.size());
    words_.emplace_back(text);
    ids_.emplace(words_.back(), id);
    return id;
  }
  absl::string_view operator[](uint32_t id) const {
    return id < words_.size() ? absl::string_view(words_[id]) : absl::string_view();
  }

 private:
  std::deque<std::string> words_;  // never moves, so the views stay good
  absl::flat_hash_map<absl::string_view, uint32_t> ids_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_WORD_TABLE_H_
