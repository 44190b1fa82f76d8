// The arithmetic of PyTorch's caching allocator: how it rounds, what it takes from the driver, when
// it splits a block. Facts about a peer, used to explain its snapshots and to replay them.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TORCH_RULES_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TORCH_RULES_H_

#include <cstdint>

namespace graphtree::snapshot::torch_rules {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kMinBlock = 512;
inline constexpr uint64_t kSmallLimit = kMiB;         // requests up to here live in small segments
inline constexpr uint64_t kSmallSegment = 2 * kMiB;
inline constexpr uint64_t kMinLarge = 10 * kMiB;      // smaller ones share segments of
inline constexpr uint64_t kLargeSegment = 20 * kMiB;
inline constexpr uint64_t kRoundLarge = 2 * kMiB;     // larger segments are a multiple of this

inline constexpr uint64_t RoundUp(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

// The block for a request, before what a split leaves over.
inline constexpr uint64_t BlockSize(uint64_t request) {
  return request < kMinBlock ? kMinBlock : RoundUp(request, kMinBlock);
}
inline constexpr bool IsSmall(uint64_t block) { return block <= kSmallLimit; }

// What is taken from the driver when no free block fits.
inline constexpr uint64_t SegmentSize(uint64_t block) {
  return IsSmall(block)        ? kSmallSegment
         : block < kMinLarge ? kLargeSegment
                             : RoundUp(block, kRoundLarge);
}

// Expandable segments grow in these steps.
inline constexpr uint64_t PageSize(bool small) { return small ? kSmallSegment : kLargeSegment; }

// Whether what a block leaves over becomes a free block of its own.
inline constexpr bool Splits(uint64_t left_over, bool small, bool expandable) {
  return small || expandable ? left_over >= kMinBlock : left_over > kSmallLimit;
}

}  // namespace graphtree::snapshot::torch_rules

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_ANALYSIS_TORCH_RULES_H_
