// Placement over pieces of 2, 16 and 64 MiB; a piece without a live block can be given back.
#include "tools/snapshot/replay/graphtree_policy.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/memory/piece_row.h"
#include "allocator/placement/placement.h"
#include "allocator/placement/run.h"
#include "device/base/check.h"

namespace graphtree::snapshot {
namespace {

constexpr uint64_t kGranularity = uint64_t{2} << 20;
constexpr uint32_t kAddresses = uint32_t{1} << 31;  // quanta: 1 TiB

class GraphtreePolicy : public Policy {
 public:
  explicit GraphtreePolicy(uint64_t limit) : Policy(limit), placement_(kAddresses) {}

  std::string name() const override { return "Graphtree"; }
  bool Allocate(const PolicyRequest& request) override;
  void Free(uint32_t key) override;
  void Trim() override;
  uint64_t LargestHole() const override;

 private:
  struct Piece {
    uint64_t begin;
    uint64_t bytes;
    bool mapped;
  };

  uint64_t covered() const {
    return pieces_.empty() ? 0 : pieces_.back().begin + pieces_.back().bytes;
  }
  size_t PieceAt(uint64_t offset) const;
  uint64_t NextPiece(uint64_t at, uint64_t end) const;
  uint64_t Missing(uint64_t begin, uint64_t end) const;
  bool Map(uint64_t begin, uint64_t end);
  std::vector<bool> PiecesInUse() const;

  Placement placement_;
  std::vector<Piece> pieces_;
  absl::flat_hash_map<uint32_t, RunId> by_key_;
};

size_t GraphtreePolicy::PieceAt(uint64_t offset) const {
  const auto after = std::upper_bound(
      pieces_.begin(), pieces_.end(), offset,
      [](uint64_t wanted, const Piece& piece) { return wanted < piece.begin; });
  return static_cast<size_t>(after - pieces_.begin()) - 1;
}

uint64_t GraphtreePolicy::NextPiece(uint64_t at, uint64_t end) const {
  return NextPieceBytes(at, end - at, kGranularity, MostPieceBytes(limit()));
}

uint64_t GraphtreePolicy::Missing(uint64_t begin, uint64_t end) const {
  uint64_t missing = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const bool inside = piece.begin < end && begin < piece.begin + piece.bytes;
    if (inside && !piece.mapped) missing += piece.bytes;
  }
  for (uint64_t at = covered(); at < end;) {
    const uint64_t bytes = NextPiece(at, end);
    missing += bytes;
    at += bytes;
  }
  return missing;
}

bool GraphtreePolicy::Map(uint64_t begin, uint64_t end) {
  if (!FitsUnderLimit(Missing(begin, end))) Trim();
  if (!FitsUnderLimit(Missing(begin, end))) return false;
  while (covered() < end) {
    const uint64_t bytes = NextPiece(covered(), end);
    pieces_.push_back({covered(), bytes, false});
  }
  for (size_t i = PieceAt(begin); i < pieces_.size() && pieces_[i].begin < end; ++i) {
    if (pieces_[i].mapped) continue;
    pieces_[i].mapped = true;
    Take(pieces_[i].bytes);
  }
  return true;
}

bool GraphtreePolicy::Allocate(const PolicyRequest& request) {
  const uint64_t quanta = std::max<uint64_t>(1, (request.size + kQuantum - 1) / kQuantum);
  if (quanta >= kAddresses) return false;
  const Placed placed = placement_.Allocate(static_cast<uint32_t>(quanta));
  if (placed.outcome != PlaceOutcome::kPlaced) return false;
  const Run& run = placement_.run(placed.run);
  if (!Map(run.offset * kQuantum, run.end() * kQuantum)) {
    placement_.Free(placed.run);
    return false;
  }
  Hold(run.length * kQuantum);
  by_key_[request.key] = placed.run;
  return true;
}

void GraphtreePolicy::Free(uint32_t key) {
  const auto found = by_key_.find(key);
  GRAPHTREE_CHECK(found != by_key_.end()) << "allocation " << key;
  Release(placement_.run(found->second).length * kQuantum);
  placement_.Free(found->second);
  by_key_.erase(found);
}

std::vector<bool> GraphtreePolicy::PiecesInUse() const {
  std::vector<bool> used(pieces_.size(), false);
  for (RunId id = placement_.first(); id != graphtree::kNoId; id = placement_.run(id).next) {
    const Run& run = placement_.run(id);
    if (!run.is_live()) continue;
    const uint64_t end = run.end() * kQuantum;
    for (size_t i = PieceAt(run.offset * kQuantum); i < pieces_.size() && pieces_[i].begin < end;
         ++i) {
      used[i] = true;
    }
  }
  return used;
}

void GraphtreePolicy::Trim() {
  if (pieces_.empty()) return;
  const std::vector<bool> used = PiecesInUse();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (used[i] || !pieces_[i].mapped) continue;
    pieces_[i].mapped = false;
    GiveBack(pieces_[i].bytes);
  }
}

uint64_t GraphtreePolicy::LargestHole() const {
  uint64_t largest = 0;
  for (RunId id = placement_.first(); id != graphtree::kNoId; id = placement_.run(id).next) {
    const Run& run = placement_.run(id);
    if (!run.is_live()) largest = std::max(largest, run.length * kQuantum);
  }
  const uint64_t end = placement_.end() * kQuantum;
  return std::max(largest, covered() > end ? covered() - end : 0);
}

}  // namespace

std::unique_ptr<Policy> MakeGraphtreePolicy(uint64_t limit) {
  return std::make_unique<GraphtreePolicy>(limit);
}

}  // namespace graphtree::snapshot
