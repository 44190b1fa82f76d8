// SpanRow: a row of addresses tiled by live and free spans, with best fit among the free ones.
//
// The common part of policies that place blocks in one growing range. Free neighbours merge. What
// lies behind the last span is not part of the row.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_SPAN_ROW_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_SPAN_ROW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace graphtree::snapshot {

class SpanRow {
 public:
  struct Span {
    uint64_t size;
    bool live;
  };

  uint64_t end() const { return end_; }
  const std::map<uint64_t, Span>& spans() const { return spans_; }
  // Free spans by size, then address.
  const std::set<std::pair<uint64_t, uint64_t>>& free() const { return free_; }

  // The smallest free span of at least `size`: its address.
  std::optional<uint64_t> BestFit(uint64_t size) const {
    const auto found = free_.lower_bound({size, 0});
    if (found == free_.end()) return std::nullopt;
    return found->second;
  }

  // The free bytes that end the row; 0 where a live span does.
  uint64_t FreeTail() const {
    if (spans_.empty() || spans_.rbegin()->second.live) return 0;
    return spans_.rbegin()->second.size;
  }

  // Adds free bytes behind the end.
  void Extend(uint64_t bytes) {
    const uint64_t address = end_;
    end_ += bytes;
    PutFree(address, bytes);
  }

  // The same, in a way that the new bytes never merge with what is in front of them.
  void ExtendApart(uint64_t bytes) {
    if (end_ != 0) spans_[end_++] = {1, true};
    Extend(bytes);
  }

  // Makes the first `size` bytes of the free span at `address` live; the rest stays free.
  void Occupy(uint64_t address, uint64_t size) {
    const auto at = spans_.find(address);
    const uint64_t whole = at->second.size;
    free_.erase({whole, address});
    at->second = {size, true};
    if (whole > size) {
      spans_[address + size] = {whole - size, false};
      free_.insert({whole - size, address + size});
    }
  }

  // Frees a live span; its size.
  uint64_t Vacate(uint64_t address) {
    const auto at = spans_.find(address);
    const uint64_t size = at->second.size;
    spans_.erase(at);
    PutFree(address, size);
    return size;
  }

  uint64_t LargestFree() const { return free_.empty() ? 0 : free_.rbegin()->first; }

 private:
  void PutFree(uint64_t address, uint64_t size) {
    auto next = spans_.lower_bound(address);
    if (next != spans_.end() && next->first == address + size && !next->second.live) {
      size += next->second.size;
      free_.erase({next->second.size, next->first});
      next = spans_.erase(next);
    }
    if (next != spans_.begin()) {
      const auto previous = std::prev(next);
      if (!previous->second.live && previous->first + previous->second.size == address) {
        free_.erase({previous->second.size, previous->first});
        previous->second.size += size;
        free_.insert({previous->second.size, previous->first});
        return;
      }
    }
    spans_[address] = {size, false};
    free_.insert({size, address});
  }

  std::map<uint64_t, Span> spans_;
  std::set<std::pair<uint64_t, uint64_t>> free_;
  uint64_t end_ = 0;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_SPAN_ROW_H_
