// The bodies, run as they stand.
#include "tools/demo_model/eager_executor.h"

#include <utility>

#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "tools/demo_model/functions.h"

namespace graphtree::demo {
namespace {

constexpr uint64_t kArenaBytes = 8 << 20;

class LaunchCounter : public AccessObserver {
 public:
  void Accessed(Access, const Tensor&, int) override {}
  void Launched(const Kernel&, const LaunchShape&, Arguments) override { ++launches; }
  uint64_t launches = 0;
};

Values RunBody(ModelFunction function, const GeneratorPtr& generator, Launcher& on,
               Values& inputs) {
  switch (function) {
    case ModelFunction::kDecode: return DecodeStep(on, inputs);
    case ModelFunction::kGreedy: return PickGreedy(on, inputs);
    case ModelFunction::kSampled: return PickSampled(on, inputs, generator);
  }
  return {};
}

}  // namespace

EagerExecutor::EagerExecutor(Stream& stream, GeneratorPtr generator,
                             std::unique_ptr<DeviceBlock> block)
    : stream_(stream),
      generator_(std::move(generator)),
      block_(std::move(block)),
      arena_(block_->range()) {}

absl::StatusOr<std::unique_ptr<EagerExecutor>> EagerExecutor::Create(Device& device,
                                                                     Stream& stream,
                                                                     GeneratorPtr generator) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceBlock> block,
                             DeviceBlock::Map(device, kArenaBytes));
  return std::unique_ptr<EagerExecutor>(
      new EagerExecutor(stream, std::move(generator), std::move(block)));
}

// Launches are counted in a function's first call only, so that counting costs the others nothing.
absl::Status EagerExecutor::Run(ModelFunction function, Values* inputs, Values* outputs) {
  uint64_t& launches = launches_[static_cast<int>(function)];
  ++bodies_run_;
  LaunchCounter counter;
  EagerRandom random;
  Launcher on(stream_, arena_, launches == 0 ? &counter : nullptr, &random);
  on.SetInputs(inputs);
  *outputs = RunBody(function, generator_, on, *inputs);
  if (launches == 0) launches = counter.launches;
  return on.status();
}

}  // namespace graphtree::demo
