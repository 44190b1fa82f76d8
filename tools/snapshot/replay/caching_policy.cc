// Blocks in linked segments, free ones in an ordered set.
#include "tools/snapshot/replay/caching_policy.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "tools/snapshot/analysis/torch_rules.h"

namespace graphtree::snapshot {
namespace {

constexpr uint32_t kNone = 0xffffffffu;

class CachingPolicy : public Policy {
 public:
  CachingPolicy(uint64_t limit, const CachingOptions& options)
      : Policy(limit), max_split_(options.max_split_size) {}

  std::string name() const override {
    return max_split_ == 0 ? "PyTorch caching"
                           : absl::StrCat("PyTorch caching, max_split_size_mb:",
                                          max_split_ / torch_rules::kMiB);
  }
  bool Allocate(const PolicyRequest& request) override;
  void Free(uint32_t key) override;
  void Trim() override;
  uint64_t LargestHole() const override;

 private:
  // Blocks that may serve the same requests.
  struct Class {
    uint32_t pool;
    uint32_t stream;
    bool small;
    auto operator<=>(const Class&) const = default;
  };
  struct Block {
    Class kind;
    uint64_t address;
    uint64_t size;
    uint32_t previous;  // in its segment
    uint32_t next;
    bool live;
  };
  using FreeKey = std::tuple<Class, uint64_t, uint64_t, uint32_t>;  // class, size, address, block

  bool Unsplittable(uint64_t size) const { return max_split_ != 0 && size >= max_split_; }
  FreeKey KeyOf(uint32_t id) const {
    return {blocks_[id].kind, blocks_[id].size, blocks_[id].address, id};
  }
  uint32_t FindFree(const Class& kind, uint64_t size);
  uint32_t NewSegment(const Class& kind, uint64_t size, uint64_t address);
  void Split(uint32_t id, uint64_t size);
  uint32_t Merge(uint32_t left, uint32_t right);
  uint32_t NewBlock(const Block& block);

  const uint64_t max_split_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> unused_;
  std::set<FreeKey> free_;
  absl::flat_hash_map<uint32_t, uint32_t> by_key_;
  uint64_t next_address_ = uint64_t{1} << 60;  // above all that a driver gives
};

uint32_t CachingPolicy::NewBlock(const Block& block) {
  if (unused_.empty()) {
    blocks_.push_back(block);
    return static_cast<uint32_t>(blocks_.size() - 1);
  }
  const uint32_t id = unused_.back();
  unused_.pop_back();
  blocks_[id] = block;
  return id;
}

uint32_t CachingPolicy::FindFree(const Class& kind, uint64_t size) {
  const auto found = free_.lower_bound({kind, size, 0, 0});
  if (found == free_.end() || std::get<0>(*found) != kind) return kNone;
  const uint64_t block_size = std::get<1>(*found);
  // Large blocks are kept for large requests, and those do not take much too large ones.
  if (!Unsplittable(size) && Unsplittable(block_size)) return kNone;
  if (Unsplittable(size) && block_size >= size + torch_rules::kLargeSegment) return kNone;
  const uint32_t id = std::get<3>(*found);
  free_.erase(found);
  return id;
}

uint32_t CachingPolicy::NewSegment(const Class& kind, uint64_t size, uint64_t address) {
  const uint64_t bytes = torch_rules::SegmentSize(size);
  if (!FitsUnderLimit(bytes)) Trim();
  if (!FitsUnderLimit(bytes)) return kNone;
  Take(bytes);
  if (address == 0) {
    address = next_address_;
    next_address_ += bytes;
  }
  return NewBlock({kind, address, bytes, kNone, kNone, false});
}

void CachingPolicy::Split(uint32_t id, uint64_t size) {
  const uint64_t rest = blocks_[id].size - size;
  const Class kind = blocks_[id].kind;
  if (!torch_rules::Splits(rest, kind.small, /*expandable=*/false)) return;
  if (!kind.small && Unsplittable(size)) return;
  const uint32_t tail =
      NewBlock({kind, blocks_[id].address + size, rest, id, blocks_[id].next, false});
  if (blocks_[id].next != kNone) blocks_[blocks_[id].next].previous = tail;
  blocks_[id].next = tail;
  blocks_[id].size = size;
  free_.insert(KeyOf(tail));
}

bool CachingPolicy::Allocate(const PolicyRequest& request) {
  const uint64_t size = torch_rules::BlockSize(request.size);
  const Class kind = {request.pool, request.stream, torch_rules::IsSmall(size)};
  uint32_t id = FindFree(kind, size);
  if (id == kNone) id = NewSegment(kind, size, request.segment_address);
  if (id == kNone) return false;
  Split(id, size);
  blocks_[id].live = true;
  Hold(blocks_[id].size);
  by_key_[request.key] = id;
  return true;
}

uint32_t CachingPolicy::Merge(uint32_t left, uint32_t right) {
  blocks_[left].size += blocks_[right].size;
  blocks_[left].next = blocks_[right].next;
  if (blocks_[right].next != kNone) blocks_[blocks_[right].next].previous = left;
  unused_.push_back(right);
  return left;
}

void CachingPolicy::Free(uint32_t key) {
  const auto found = by_key_.find(key);
  GRAPHTREE_CHECK(found != by_key_.end()) << "allocation " << key;
  uint32_t id = found->second;
  by_key_.erase(found);
  Release(blocks_[id].size);
  blocks_[id].live = false;
  const uint32_t next = blocks_[id].next;
  if (next != kNone && !blocks_[next].live) {
    free_.erase(KeyOf(next));
    Merge(id, next);
  }
  const uint32_t previous = blocks_[id].previous;
  if (previous != kNone && !blocks_[previous].live) {
    free_.erase(KeyOf(previous));
    id = Merge(previous, id);
  }
  free_.insert(KeyOf(id));
}

void CachingPolicy::Trim() {
  for (auto it = free_.begin(); it != free_.end();) {
    const uint32_t id = std::get<3>(*it);
    const bool whole = blocks_[id].previous == kNone && blocks_[id].next == kNone;
    // Pools of graphs keep their segments as long as the graphs exist.
    if (!whole || blocks_[id].kind.pool != 0) {
      ++it;
      continue;
    }
    GiveBack(blocks_[id].size);
    unused_.push_back(id);
    it = free_.erase(it);
  }
}

uint64_t CachingPolicy::LargestHole() const {
  uint64_t largest = 0;
  for (const FreeKey& key : free_) largest = std::max(largest, std::get<1>(key));
  return largest;
}

}  // namespace

std::unique_ptr<Policy> MakeCachingPolicy(uint64_t limit, const CachingOptions& options) {
  return std::make_unique<CachingPolicy>(limit, options);
}

}  // namespace graphtree::snapshot
