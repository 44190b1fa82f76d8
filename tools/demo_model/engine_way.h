// The way in which serving engines use graphs today: the layers are captured once for each padded
// size before the first request comes, and everything around them is launched one by one.
//
//   at the start   for each size, the largest first: run once, capture the layers, instantiate
//   each step      for each input: copy its rows to a buffer that stays, fill the rows of padding
//                  prepare                             one kernel
//                  launch the graph of the size        |== layers ==|
//                  pick tokens                         four kernels
//
// A batch that is larger than every size runs eagerly. Nothing says so.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_ENGINE_WAY_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_ENGINE_WAY_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/memory.h"
#include "device/stream.h"
#include "tools/demo_model/batch_slots.h"
#include "tools/demo_model/device_block.h"
#include "tools/demo_model/ladder.h"
#include "tools/demo_model/model.h"
#include "tools/demo_model/step_arena.h"
#include "tools/demo_model/way.h"
#include "tools/demo_model/weights.h"

namespace graphtree::demo {

class EngineWay : public Way {
 public:
  // Captures a graph for the sizes of each rung. REQUIRES: `memory` has twice kStepArenaBytes, for
  // what the graphs compute and for all else.
  static absl::StatusOr<std::unique_ptr<EngineWay>> Create(Device& device, Stream& stream,
                                                           const Weights& weights,
                                                           AddressRange memory,
                                                           const std::vector<Rung>& ladder);

  absl::StatusOr<Submitted> Submit(const Batch& batch) override;
  WayGraphs graphs() const override;

 private:
  struct Captured {
    int tokens = 0;
    int context = 0;
    std::unique_ptr<Executable> executable;
    Address hidden = 0;  // where the graph leaves its result
  };

  EngineWay(Stream& stream, const Weights& weights, AddressRange memory);

  absl::Status CaptureLadder(const std::vector<Rung>& ladder);
  absl::Status CaptureSize(Captured* captured);
  absl::StatusOr<Address> Layers(StepArena& arena, const StepSizes& sizes);
  // The smallest that serves the batch; null if none does.
  const Captured* Choose(const Batch& batch) const;
  // Copies and fills; how many they were.
  absl::StatusOr<int> BringIn(const Batch& batch, const StepSizes& sizes);
  absl::Status PadSlot(const Batch& batch, BatchSlot slot, const StepSizes& sizes,
                       uint64_t bytes, int* submissions);
  Prepared PreparedFor(const StepSizes& sizes) const;

  Stream& stream_;
  const ModelWeights& weights_;
  const BatchPiece piece_;
  StepArena graph_arena_;  // all graphs share it, as they run one after another
  StepArena arena_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<DeviceBlock> inputs_;    // they stay, and so does what is prepared from them
  std::unique_ptr<DeviceBlock> prepared_;
  std::vector<Captured> captured_;         // in the order of their cost
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_ENGINE_WAY_H_
