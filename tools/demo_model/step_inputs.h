// Brings a batch to the device and its tokens back. Two sets of device memory take turns, as in a
// server that prepares its next batch early: a step's inputs never lie where the last ones did.
//
//   host set      | tokens | positions | slots | temperatures |  --one copy-->  device set 0 or 1
//   host tokens   <--one copy--  whatever the model picked
//
// Thread rule: one thread. The stream must be done with a set before its turn comes again; waiting
// for each step's end is enough.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_STEP_INPUTS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_STEP_INPUTS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "graphs/tensor.h"
#include "tools/demo_model/device_block.h"
#include "tools/demo_model/scheduler.h"

namespace graphtree::demo {

class StepInputs {
 public:
  static absl::StatusOr<std::unique_ptr<StepInputs>> Create(Device& device);

  // Starts the copy of this batch into the other set.
  absl::Status Send(const Batch& batch, Stream& stream);
  // The batch that was sent last.
  Tensor tokens() const { return Part(0, DType::kI32); }
  Tensor positions() const { return Part(1, DType::kI32); }
  Tensor slots() const { return Part(2, DType::kI32); }
  Tensor temperatures() const { return Part(3, DType::kF32); }

  // Waits for the stream and reads the picked tokens.
  absl::StatusOr<std::vector<int>> Receive(const Tensor& picked, Stream& stream);

 private:
  StepInputs() = default;
  Tensor Part(int part, DType type) const;

  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<DeviceBlock> block_;
  int turn_ = 0;
  int rows_ = 0;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_STEP_INPUTS_H_
