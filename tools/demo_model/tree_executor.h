// Runs the model's functions through a tree: eagerly once, recorded once, then replayed.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_TREE_EXECUTOR_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_TREE_EXECUTOR_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/random/random_source.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "tools/demo_model/executor.h"

namespace graphtree::demo {

class TreeExecutor : public Executor {
 public:
  static absl::StatusOr<std::unique_ptr<TreeExecutor>> Create(Device& device, Stream& stream,
                                                              GeneratorPtr generator,
                                                              const TreeOptions& options);

  void BeginStep() override { tree_->BeginStep(); }
  absl::Status Run(ModelFunction function, Values* inputs, Values* outputs) override;
  uint64_t bodies_run() const override { return bodies_run_; }

  Tree& tree() { return *tree_; }

 private:
  TreeExecutor(std::unique_ptr<Tree> tree, Stream& stream, GeneratorPtr generator);

  const std::unique_ptr<Tree> tree_;
  Stream& stream_;
  uint64_t bodies_run_ = 0;
  std::array<FunctionId, kModelFunctions> functions_;
};

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_TREE_EXECUTOR_H_
