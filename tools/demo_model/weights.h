// The model's parameters and caches on a device: drawn from a fixed seed, so that every run and
// every device has the same model, and what it says can be compared.
//
//   one block    | embedding | angles | norm qkv project norm gate_up down | ... | norm head |
//   another      | cache of layer 0 | cache of layer 1 | ...
//
// The weights never change. The caches are emptied by ClearCaches.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_WEIGHTS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_WEIGHTS_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/tensor.h"
#include "tools/demo_model/device_block.h"
#include "tools/demo_model/kernels/dims.h"

namespace graphtree::demo {

struct LayerWeights {
  Tensor norm1, qkv, project, norm2, gate_up, down, cache;
};

struct ModelWeights {
  Tensor embedding;
  Tensor angles;  // of each position's turn
  std::array<LayerWeights, kLayers> layers;
  Tensor norm;
  Tensor head;
};

class Weights {
 public:
  static absl::StatusOr<std::unique_ptr<Weights>> Load(Device& device, Stream& stream,
                                                       uint64_t seed);

  absl::Status ClearCaches(Stream& stream);

  const ModelWeights& model() const { return model_; }
  uint64_t weight_bytes() const { return weights_->range().bytes; }
  uint64_t cache_bytes() const { return caches_->range().bytes; }

 private:
  Weights() = default;

  std::unique_ptr<DeviceBlock> weights_;
  std::unique_ptr<DeviceBlock> caches_;
  ModelWeights model_;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_WEIGHTS_H_
