// The sizes of the demo's model: a decoder-only transformer small enough for a host device.
//
//   ids -> embedding -> 6 x [ norm, attention over the cache, norm, gated mlp ] -> hidden
//   hidden -> each request's last row -> norm -> logits -> next tokens
//
// Everything is row-major float32. The key-value cache of one layer is [2][kCacheRows][kHidden]:
// keys first, then values. Its rows come in blocks of kBlockTokens; a request's table says which
// blocks it has, so that its cache need not lie in one piece, and another request gets the blocks
// when it ends.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_DIMS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_DIMS_H_

#include "device/base/host_device.h"

namespace graphtree::demo {

inline constexpr int kLayers = 6;
inline constexpr int kHidden = 128;
inline constexpr int kHeads = 4;
inline constexpr int kHeadDim = kHidden / kHeads;
inline constexpr int kFeed = 256;  // width inside the mlp
inline constexpr int kVocabulary = 512;

inline constexpr int kPositions = 256;  // the longest sequence
inline constexpr int kBlockTokens = 16;
inline constexpr int kTableBlocks = kPositions / kBlockTokens;  // of the longest sequence
inline constexpr int kBlocks = 128;
inline constexpr int kCacheRows = kBlocks * kBlockTokens;

inline constexpr int kMostRequests = 16;  // in one step
inline constexpr int kMostTokens = kPositions;

static_assert(kHeadDim == 32, "one lane of a warp owns one dimension of a head");
static_assert(kBlocks >= kTableBlocks, "the longest sequence fits into the cache");

// The cache's row of a request's token.
GRAPHTREE_HOST_DEVICE inline int PlaceOf(const int* table, int position) {
  return table[position / kBlockTokens] * kBlockTokens + position % kBlockTokens;
}

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_DIMS_H_
