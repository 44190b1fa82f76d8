// The model as three functions, written against a Launcher: nothing in them knows whether they run
// eagerly or are being recorded.
//
//   DecodeStep   tokens, positions, slots, weights, caches -> hidden      73 launches
//   PickGreedy   hidden, weights                           -> tokens       3 launches
//   PickSampled  hidden, temperatures, weights             -> tokens       3 launches
//
// The batch is the size of the inputs, so another number of requests is another recording. Weights
// and caches are static inputs; each step appends to the caches in place. Tokens, positions, slots
// and temperatures change place from call to call and are copied.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_FUNCTIONS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_FUNCTIONS_H_

#include <cstdint>
#include <vector>

#include "graphs/launcher.h"
#include "graphs/random/random_source.h"
#include "graphs/tensor.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {

// Where DecodeStep's inputs stand.
inline constexpr int kTokens = 0;
inline constexpr int kPositionsInput = 1;
inline constexpr int kSlotsInput = 2;
inline constexpr int kEmbedding = 3;
inline constexpr int kAngles = 4;
inline constexpr int kFirstLayer = 5;

// ... and within a layer.
enum LayerInput { kNorm1, kQkv, kProject, kNorm2, kGateUp, kDown, kCache, kLayerInputs };

inline constexpr int kDecodeInputs = kFirstLayer + kLayers * kLayerInputs;

Values DecodeStep(Launcher& on, Values& inputs);

// Inputs: hidden, norm, head.
Values PickGreedy(Launcher& on, Values& inputs);

// Inputs: hidden, temperatures, norm, head.
Values PickSampled(Launcher& on, Values& inputs, const GeneratorPtr& generator);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_FUNCTIONS_H_
