// Regions lie in one row, kept apart so that no block crosses from one into the next.
#include "tools/snapshot/replay/bfc_policy.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "device/base/check.h"
#include "tools/snapshot/analysis/torch_rules.h"
#include "tools/snapshot/replay/span_row.h"

namespace graphtree::snapshot {
namespace {

constexpr uint64_t kQuantum = 256;
constexpr uint64_t kMostLeftInABlock = uint64_t{128} << 20;
constexpr uint64_t kFirstRegion = uint64_t{2} << 20;

class BfcPolicy : public Policy {
 public:
  using Policy::Policy;

  std::string name() const override { return "BFC (TensorFlow, XLA)"; }
  bool Allocate(const PolicyRequest& request) override;
  void Free(uint32_t key) override;
  void Trim() override {}  // regions stay until the process ends
  uint64_t LargestHole() const override { return row_.LargestFree(); }

 private:
  bool Grow(uint64_t size);

  SpanRow row_;
  uint64_t next_region_ = kFirstRegion;
  absl::flat_hash_map<uint32_t, uint64_t> by_key_;
};

bool BfcPolicy::Grow(uint64_t size) {
  bool doubled = false;
  while (size > next_region_) {
    next_region_ *= 2;
    doubled = true;
  }
  uint64_t bytes = next_region_;
  // Where the driver refuses, smaller and smaller regions are tried, down to the request.
  while (!FitsUnderLimit(bytes) && bytes > size) {
    bytes = std::max(size, bytes / 10 * 9 / kQuantum * kQuantum);
  }
  if (!FitsUnderLimit(bytes)) return false;
  if (!doubled) next_region_ *= 2;
  Take(bytes);
  row_.ExtendApart(bytes);
  return true;
}

bool BfcPolicy::Allocate(const PolicyRequest& request) {
  uint64_t size = torch_rules::RoundUp(std::max<uint64_t>(request.size, 1), kQuantum);
  if (!row_.BestFit(size).has_value() && !Grow(size)) return false;
  const uint64_t place = *row_.BestFit(size);
  const uint64_t whole = row_.spans().at(place).size;
  if (whole < 2 * size && whole - size < kMostLeftInABlock) size = whole;
  row_.Occupy(place, size);
  Hold(size);
  by_key_[request.key] = place;
  return true;
}

void BfcPolicy::Free(uint32_t key) {
  const auto found = by_key_.find(key);
  GRAPHTREE_CHECK(found != by_key_.end()) << "allocation " << key;
  Release(row_.Vacate(found->second));
  by_key_.erase(found);
}

}  // namespace

std::unique_ptr<Policy> MakeBfcPolicy(uint64_t limit) { return std::make_unique<BfcPolicy>(limit); }

}  // namespace graphtree::snapshot
