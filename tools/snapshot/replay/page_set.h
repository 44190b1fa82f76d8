// PageSet: which pages of a range have physical memory.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_PAGE_SET_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_PAGE_SET_H_

#include <cstdint>
#include <vector>

namespace graphtree::snapshot {

class PageSet {
 public:
  explicit PageSet(uint64_t page) : page_(page) {}

  // Bytes that mapping [begin, end) would take.
  uint64_t Missing(uint64_t begin, uint64_t end) const {
    uint64_t missing = 0;
    for (uint64_t i = begin / page_; i * page_ < end; ++i) missing += IsMapped(i) ? 0 : page_;
    return missing;
  }
  void Map(uint64_t begin, uint64_t end) {
    if (end == begin) return;
    const uint64_t last = (end - 1) / page_;
    if (last >= mapped_.size()) mapped_.resize(last + 1, false);
    for (uint64_t i = begin / page_; i <= last; ++i) mapped_[i] = true;
  }
  // Unmaps the pages that lie wholly inside; how many bytes that gave.
  uint64_t Unmap(uint64_t begin, uint64_t end) {
    uint64_t given = 0;
    for (uint64_t i = (begin + page_ - 1) / page_; (i + 1) * page_ <= end; ++i) {
      if (!IsMapped(i)) continue;
      mapped_[i] = false;
      given += page_;
    }
    return given;
  }
  bool Covers(uint64_t begin, uint64_t end) const { return Missing(begin, end) == 0; }
  uint64_t page() const { return page_; }

 private:
  bool IsMapped(uint64_t i) const { return i < mapped_.size() && mapped_[i]; }

  uint64_t page_;
  std::vector<bool> mapped_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_PAGE_SET_H_
