// The bodies, registered once.
#include "tools/demo_model/tree_executor.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "tools/demo_model/functions.h"

namespace graphtree::demo {
namespace {

// Inputs [first, count) never move: weights and caches.
FunctionOptions StaticFrom(uint32_t first, uint32_t count) {
  FunctionOptions options;
  options.static_inputs.resize(count - first);
  std::iota(options.static_inputs.begin(), options.static_inputs.end(), first);
  return options;
}

}  // namespace

TreeExecutor::TreeExecutor(std::unique_ptr<Tree> tree, Stream& stream, GeneratorPtr generator)
    : tree_(std::move(tree)), stream_(stream) {
  functions_[static_cast<int>(ModelFunction::kDecode)] =
      tree_->Register("decode", StaticFrom(kEmbedding, kDecodeInputs),
                      [this](Launcher& on, Values& inputs) {
                        ++bodies_run_;
                        return DecodeStep(on, inputs);
                      });
  functions_[static_cast<int>(ModelFunction::kGreedy)] = tree_->Register(
      "greedy", StaticFrom(1, 3), [this](Launcher& on, Values& inputs) {
        ++bodies_run_;
        return PickGreedy(on, inputs);
      });
  functions_[static_cast<int>(ModelFunction::kSampled)] = tree_->Register(
      "sampled", StaticFrom(2, 4), [this, generator](Launcher& on, Values& inputs) {
        ++bodies_run_;
        return PickSampled(on, inputs, generator);
      });
}

absl::StatusOr<std::unique_ptr<TreeExecutor>> TreeExecutor::Create(Device& device, Stream& stream,
                                                                   GeneratorPtr generator,
                                                                   const TreeOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Tree> tree, Tree::Create(device, options));
  return std::unique_ptr<TreeExecutor>(
      new TreeExecutor(std::move(tree), stream, std::move(generator)));
}

absl::Status TreeExecutor::Run(ModelFunction function, Values* inputs, Values* outputs) {
  return tree_->Run(functions_[static_cast<int>(function)], absl::MakeSpan(*inputs), stream_,
                    outputs);
}

}  // namespace graphtree::demo
