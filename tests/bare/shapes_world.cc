// Sets the chains up, and runs them on both sides.
#include "tests/bare/shapes_world.h"

#include <utility>
#include <variant>

#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "device/open.h"
#include "graphs/launcher.h"
#include "tests/kernels/kernels.h"

namespace graphtree {
namespace {

constexpr uint32_t kStepWords = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<ShapesWorld>> ShapesWorld::Make(const std::string& device,
                                                               uint32_t shapes, uint32_t kernels,
                                                               std::optional<uint32_t> differ) {
  std::unique_ptr<ShapesWorld> world(new ShapesWorld());
  GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device, shapes, kernels, differ));
  return world;
}

ShapesWorld::~ShapesWorld() {
  if (stream_ != nullptr) Drain().IgnoreError();
  Forget();
}

absl::Status ShapesWorld::SetUp(const std::string& device, uint32_t shapes, uint32_t kernels,
                                std::optional<uint32_t> differ) {
  GRAPHTREE_ASSIGN_OR_RETURN(device_, OpenDevice(device));
  GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_->NewStream());
  const uint64_t most_bytes = uint64_t{shapes} * kStepWords * sizeof(uint32_t);
  GRAPHTREE_ASSIGN_OR_RETURN(block_, demo::DeviceBlock::Map(*device_, 2 * most_bytes));
  const Address base = block_->range().base;
  device_->memory().NoteLive(block_->range(), "the caller's own memory");
  GRAPHTREE_RETURN_IF_ERROR(stream_->Fill(base, 1, 4, 2 * most_bytes / 4));
  for (uint32_t i = 0; i < shapes; ++i) {
    AddChain(differ.has_value() ? 1 : i + 1, kernels, differ.value_or(0), i, base,
             base + most_bytes);
  }
  if (device_->info().architecture != "host") {
    GRAPHTREE_ASSIGN_OR_RETURN(bare_, BareNew::Make());
  }
  return stream_->Synchronize();
}

void ShapesWorld::AddChain(uint32_t sizes, uint32_t kernels, uint32_t differ, uint32_t more,
                           Address in, Address out) {
  auto chain = std::make_unique<Chain>();
  chain->count = kStepWords * sizes;
  chain->layout = Layout::Of(DType::kI32, {chain->count});
  chain->in = in;
  chain->out = out;
  chain->shape.grid = {sizes};
  chain->shape.block = {kStepWords};
  for (uint32_t k = 0; k < kernels; ++k) chain->by.push_back(k <= differ ? k + more : k);
  if (device_->info().architecture != "host") {
    for (uint32_t k = 0; k < kernels; ++k) {
      const Kernel& kernel = k == 0 ? AddKernel() : IncrementKernel();
      std::vector<const void*> arguments = {&chain->out, &chain->by[k], &chain->count};
      if (k == 0) arguments = {&chain->out, &chain->in, &chain->in, &chain->count};
      chain->bare.push_back({std::get<CudaSymbol>(kernel.cuda()).symbol, chain->shape.grid,
                             chain->shape.block, std::move(arguments)});
    }
  }
  chains_.push_back(std::move(chain));
}

absl::Status ShapesWorld::OpenTree(const TreeBudget& budget) {
  TreeOptions options;
  options.pool_bytes = uint64_t{1} << 30;
  options.budget = budget;
  GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(*device_, options));
  FunctionOptions statics;
  statics.static_inputs = {1};
  function_ = tree_->Register("chain", statics, [this](Launcher& on, Values& inputs) {
    const Chain& chain = *chains_[inputs[0].integer()];
    const Tensor x = Tensor::From(inputs[1]);
    const Tensor out = on.Empty(chain.layout);
    if (!on.ok()) return Values();
    on.Launch(AddKernel(), chain.shape, {Out(out), In(x), In(x), Val(chain.count)});
    for (size_t k = 1; k < chain.by.size(); ++k) {
      on.Launch(IncrementKernel(), chain.shape, {InOut(out), Val(chain.by[k]), Val(chain.count)});
    }
    return Values{out};
  });
  return absl::OkStatus();
}

absl::Status ShapesWorld::Call(uint32_t shape) {
  const Chain& chain = *chains_[shape];
  Value inputs[] = {Value::Integer(shape), Tensor::Foreign(chain.in, chain.layout)};
  tree_->BeginStep();
  return tree_->Run(function_, absl::MakeSpan(inputs), *stream_, &outputs_);
}

absl::Status ShapesWorld::Drain() {
  GRAPHTREE_RETURN_IF_ERROR(stream_->Synchronize());
  return bare_ != nullptr ? bare_->Synchronize() : absl::OkStatus();
}

void ShapesWorld::Forget() {
  outputs_.clear();
  tree_ = nullptr;
  ForgetBare();
}

void ShapesWorld::ForgetBare() {
  met_.clear();
  if (bare_ != nullptr) bare_->Forget();
}

absl::Status ShapesWorld::LaunchAll(const Chain& chain) {
  const AddressRange in = {chain.in, chain.count * sizeof(uint32_t)};
  const AddressRange out = {chain.out, chain.count * sizeof(uint32_t)};
  const Argument first[] = {Argument::Out(out), Argument::In(in), Argument::In(in),
                            Argument::Value(chain.count)};
  GRAPHTREE_RETURN_IF_ERROR(stream_->Launch(AddKernel(), chain.shape, first));
  for (size_t k = 1; k < chain.by.size(); ++k) {
    const Argument next[] = {Argument::InOut(out), Argument::Value(chain.by[k]),
                             Argument::Value(chain.count)};
    GRAPHTREE_RETURN_IF_ERROR(stream_->Launch(IncrementKernel(), chain.shape, next));
  }
  return absl::OkStatus();
}

absl::Status ShapesWorld::LaunchOnHost(Met* met) {
  GRAPHTREE_ASSIGN_OR_RETURN(met->executable, met->graph->Instantiate());
  return met->executable->Launch(*stream_);
}

absl::Status ShapesWorld::MeetBare(uint32_t shape) {
  const Chain& chain = *chains_[shape];
  if (bare_ != nullptr) {
    bare_->Meet(chain.bare);
    return absl::OkStatus();
  }
  GRAPHTREE_RETURN_IF_ERROR(LaunchAll(chain));
  return RecordBare(shape);
}

absl::Status ShapesWorld::RecordBare(uint32_t shape) {
  const Chain& chain = *chains_[shape];
  if (bare_ != nullptr) {
    bare_->Record(chain.bare);
    return absl::OkStatus();
  }
  GRAPHTREE_RETURN_IF_ERROR(stream_->BeginCapture(CaptureMode::kThreadLocal));
  GRAPHTREE_RETURN_IF_ERROR(LaunchAll(chain));
  Met& met = met_.emplace_back();
  last_met_ = met_.size() - 1;
  GRAPHTREE_ASSIGN_OR_RETURN(met.graph, stream_->EndCapture());
  return LaunchOnHost(&met);
}

absl::Status ShapesWorld::BackBare(size_t met) {
  if (bare_ != nullptr) {
    bare_->Back(met);
    return absl::OkStatus();
  }
  met_[last_met_].executable = nullptr;
  last_met_ = met;
  return LaunchOnHost(&met_[met]);
}

}  // namespace graphtree
