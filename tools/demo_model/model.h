// The model in three parts, written against a Launcher: nothing in them knows whether they run
// eagerly or are being recorded.
//
//   Prepare      starts, lengths, tables        -> what each row of tokens is     1 launch
//   RunLayers    ids, weights, caches           -> hidden                        73 launches
//   PickTokens   hidden, temperatures, seeds    -> a token for each request       4 launches
//
// Each step appends to the caches in place.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_MODEL_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_MODEL_H_

#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "tools/demo_model/batch_slots.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/weights.h"

namespace graphtree::demo {

inline constexpr int kPrepareLaunches = 1;
inline constexpr int kLayerLaunches = 1 + 12 * kLayers;
inline constexpr int kPickLaunches = 4;
inline constexpr int kStepLaunches = kPrepareLaunches + kLayerLaunches + kPickLaunches;

// The sizes for which a step is launched, with padding.
struct StepSizes {
  int tokens = 0;
  int requests = 0;
  int context = 0;  // the most tokens that a request has
};

// See PrepareKernel.
struct Prepared {
  Tensor positions, owners, places;
  Tensor live_tokens, live_requests;

  Values AsValues() const { return {positions, owners, places, live_tokens, live_requests}; }
  static Prepared From(const Values& values);
};

// Memory for what Prepare makes.
Prepared EmptyPrepared(Launcher& on, const StepSizes& sizes);

void Prepare(Launcher& on, const BatchTensors& batch, const StepSizes& sizes,
             const Prepared& prepared);
Tensor RunLayers(Launcher& on, const ModelWeights& weights, const BatchTensors& batch,
                 const Prepared& prepared, const StepSizes& sizes);
Tensor PickTokens(Launcher& on, const ModelWeights& weights, const BatchTensors& batch,
                  const Prepared& prepared, const StepSizes& sizes, const Tensor& hidden);

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_MODEL_H_
