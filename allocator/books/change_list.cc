// Composing two differences.
#include "allocator/books/change_list.h"

#include <algorithm>

namespace graphtree {

ChangeList Compose(const ChangeList& first, const ChangeList& second,
                   std::vector<uint32_t>* cancelled) {
  ChangeList all = first;
  all.insert(all.end(), second.begin(), second.end());
  std::sort(all.begin(), all.end(), [](Change a, Change b) { return a.block() < b.block(); });
  ChangeList net;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i + 1 < all.size() && all[i].block() == all[i + 1].block()) {
      cancelled->push_back(all[i].block());
      ++i;
    } else {
      net.push_back(all[i]);
    }
  }
  return net;
}

}  // namespace graphtree
