// A row of spans and a set of pages for each class of requests.
#include "tools/snapshot/replay/expandable_policy.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "device/base/check.h"
#include "tools/snapshot/analysis/torch_rules.h"
#include "tools/snapshot/replay/page_set.h"
#include "tools/snapshot/replay/span_row.h"

namespace graphtree::snapshot {
namespace {

class ExpandablePolicy : public Policy {
 public:
  using Policy::Policy;

  std::string name() const override { return "PyTorch expandable segments"; }
  bool Allocate(const PolicyRequest& request) override;
  void Free(uint32_t key) override;
  void Trim() override;
  uint64_t LargestHole() const override;

 private:
  struct Class {
    uint32_t pool;
    uint32_t stream;
    bool small;
    auto operator<=>(const Class&) const = default;
  };
  struct Arena {
    explicit Arena(uint64_t page) : pages(page) {}
    SpanRow row;
    PageSet pages;
  };

  // The smallest free span of which every page is mapped.
  std::optional<uint64_t> FindMapped(const Arena& arena, uint64_t size) const;
  bool Map(Arena& arena, uint64_t address, uint64_t size);

  std::map<Class, Arena> arenas_;
  absl::flat_hash_map<uint32_t, std::pair<Arena*, uint64_t>> by_key_;
};

std::optional<uint64_t> ExpandablePolicy::FindMapped(const Arena& arena, uint64_t size) const {
  const auto& free = arena.row.free();
  for (auto it = free.lower_bound({size, 0}); it != free.end(); ++it) {
    if (arena.pages.Covers(it->second, it->second + size)) return it->second;
  }
  return std::nullopt;
}

bool ExpandablePolicy::Map(Arena& arena, uint64_t address, uint64_t size) {
  uint64_t missing = arena.pages.Missing(address, address + size);
  if (!FitsUnderLimit(missing)) {
    Trim();  // may unmap pages under this very span, so it is counted again
    missing = arena.pages.Missing(address, address + size);
    if (!FitsUnderLimit(missing)) return false;
  }
  if (missing != 0) Take(missing);
  arena.pages.Map(address, address + size);
  return true;
}

bool ExpandablePolicy::Allocate(const PolicyRequest& request) {
  const uint64_t size = torch_rules::BlockSize(request.size);
  const Class kind = {request.pool, request.stream, torch_rules::IsSmall(size)};
  Arena& arena = arenas_.try_emplace(kind, torch_rules::PageSize(kind.small)).first->second;
  std::optional<uint64_t> place = FindMapped(arena, size);
  if (!place.has_value()) place = arena.row.BestFit(size);
  if (!place.has_value()) {
    place = arena.row.end() - arena.row.FreeTail();
    arena.row.Extend(torch_rules::RoundUp(size - arena.row.FreeTail(), arena.pages.page()));
  }
  if (!Map(arena, *place, size)) return false;
  arena.row.Occupy(*place, size);
  Hold(size);
  by_key_[request.key] = {&arena, *place};
  return true;
}

void ExpandablePolicy::Free(uint32_t key) {
  const auto found = by_key_.find(key);
  GRAPHTREE_CHECK(found != by_key_.end()) << "allocation " << key;
  Release(found->second.first->row.Vacate(found->second.second));
  by_key_.erase(found);
}

void ExpandablePolicy::Trim() {
  for (auto& [kind, arena] : arenas_) {
    if (kind.pool != 0) continue;
    for (const auto& [size, address] : arena.row.free()) {
      const uint64_t given = arena.pages.Unmap(address, address + size);
      if (given != 0) GiveBack(given);
    }
  }
}

uint64_t ExpandablePolicy::LargestHole() const {
  uint64_t largest = 0;
  for (const auto& [kind, arena] : arenas_) {
    for (const auto& [size, address] : arena.row.free()) {
      if (size > largest && arena.pages.Covers(address, address + size)) largest = size;
    }
  }
  return largest;
}

}  // namespace

std::unique_ptr<Policy> MakeExpandablePolicy(uint64_t limit) {
  return std::make_unique<ExpandablePolicy>(limit);
}

}  // namespace graphtree::snapshot
