// Launches every kernel one by one, from the thinnest possible allocator: what the tree is held to.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_EAGER_EXECUTOR_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_EAGER_EXECUTOR_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/random/random_source.h"
#include "graphs/tensor.h"
#include "tools/demo_model/device_block.h"
#include "tools/demo_model/executor.h"
#include "tools/demo_model/step_arena.h"

namespace graphtree::demo {

class EagerExecutor : public Executor {
 public:
  static absl::StatusOr<std::unique_ptr<EagerExecutor>> Create(Device& device, Stream& stream,
                                                               GeneratorPtr generator);

  void BeginStep() override { arena_.StartOver(); }
  absl::Status Run(ModelFunction function, Values* inputs, Values* outputs) override;

  uint64_t bodies_run() const override { return bodies_run_; }

  // Kernels that one call of the function launches; 0 if it has not been called.
  uint64_t launches(ModelFunction function) const {
    return launches_[static_cast<int>(function)];
  }

 private:
  EagerExecutor(Stream& stream, GeneratorPtr generator, std::unique_ptr<DeviceBlock> block);

  Stream& stream_;
  const GeneratorPtr generator_;
  const std::unique_ptr<DeviceBlock> block_;
  StepArena arena_;
  uint64_t bodies_run_ = 0;
  std::array<uint64_t, kModelFunctions> launches_ = {};
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_EAGER_EXECUTOR_H_
