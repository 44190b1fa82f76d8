// Launches every kernel one by one, from the thinnest possible allocator, behind one copy that
// brings the whole batch in: what graphs are held to.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_EAGER_WAY_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_EAGER_WAY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "tools/demo_model/batch_slots.h"
#include "tools/demo_model/device_block.h"
#include "tools/demo_model/step_arena.h"
#include "tools/demo_model/way.h"
#include "tools/demo_model/weights.h"

namespace graphtree::demo {

class EagerWay : public Way {
 public:
  // All outlive the way, here and in the other ways. The model computes in `memory`. REQUIRES: that
  // has kStepArenaBytes.
  static absl::StatusOr<std::unique_ptr<EagerWay>> Create(Device& device, Stream& stream,
                                                          const Weights& weights,
                                                          AddressRange memory);

  absl::StatusOr<Submitted> Submit(const Batch& batch) override;
  WayGraphs graphs() const override { return {}; }

 private:
  EagerWay(Stream& stream, const Weights& weights, AddressRange memory)
      : stream_(stream), weights_(weights.model()), arena_(memory) {}

  Stream& stream_;
  const ModelWeights& weights_;
  const BatchPiece piece_;
  StepArena arena_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<DeviceBlock> inputs_;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_EAGER_WAY_H_
