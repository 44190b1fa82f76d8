// The sizes of the demo's model: a decoder-only transformer small enough for a host device.
//
//   tokens -> embedding -> 6 x [ norm, attention over the cache, norm, gated mlp ] -> hidden
//   hidden -> norm -> logits -> next tokens
//
// Everything is row-major float32. The key-value cache of one layer is [2][slot][position][hidden]:
// keys first, then values; a request keeps one slot for as long as it runs.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_DIMS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_DIMS_H_

namespace graphtree::demo {

inline constexpr int kLayers = 6;
inline constexpr int kHidden = 128;
inline constexpr int kHeads = 4;
inline constexpr int kHeadDim = kHidden / kHeads;
inline constexpr int kFeed = 256;  // width inside the mlp
inline constexpr int kVocabulary = 512;
inline constexpr int kPositions = 128;  // the longest sequence
inline constexpr int kSlots = 8;        // requests that run at a time

static_assert(kHeadDim == 32, "one lane of a warp owns one dimension of a head");

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_DIMS_H_
