// Sets the world up, and makes the calls that are timed.
#include "tests/bare/tree_bench_world.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "tests/kernels/kernels.h"
#include "tools/benching/timing.h"

namespace graphtree {
namespace {

constexpr uint32_t kElements = 256;
constexpr uint64_t kSlotBytes = kElements * sizeof(uint32_t);
constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};

const Layout* SlotLayout() {
  static const Layout* layout = Layout::Of(DType::kI32, {kElements});
  return layout;
}

BareLaunch BareIngest(const IngestPlan& plan) {
  return {std::get<CudaSymbol>(plan.kernel().cuda()).symbol, plan.shape().grid, plan.shape().block,
          {plan.Table().data()}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchWorld>> BenchWorld::Make(const std::string& device,
                                                             const BenchShape& shape) {
  std::unique_ptr<BenchWorld> world(new BenchWorld(shape));
  GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
  return world;
}

BenchWorld::~BenchWorld() {
  inputs_.clear();
  outputs_.clear();
  if (on_.is_open()) Drain();
  while (!bare_.empty()) bare_.pop_back();  // the first one lends its stream
}

// Slots: two sets of copied inputs, then the static ones.
Tensor BenchWorld::TensorAt(uint32_t slot) const {
  return Tensor::Foreign(on_.memory().base + slot * kSlotBytes, SlotLayout());
}

absl::Status BenchWorld::SetUp(const std::string& device) {
  const uint64_t slots = 2 * shape_.copied + shape_.statics + shape_.siblings;
  GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, slots * kSlotBytes));
  TreeOptions options;
  options.pool_bytes = uint64_t{1} << 30;
  GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(on_.device(), options));
  FunctionOptions statics;
  for (uint32_t i = 0; i < shape_.statics; ++i) statics.static_inputs.push_back(i);
  const uint32_t kernels = shape_.kernels;
  for (uint32_t f = 0; f < shape_.functions; ++f) {
    tree_->Register(absl::StrCat("f", f), statics, [kernels](Launcher& on, Values& inputs) {
      Tensor out = on.Empty(SlotLayout());
      if (!on.ok()) return Values();
      const Tensor last = Tensor::From(inputs.back());
      on.Launch(AddKernel(), kShape, {Out(out), In(last), In(last), Val(kElements)});
      for (uint32_t k = 1; k < kernels; ++k) {
        on.Launch(IncrementKernel(), kShape, {InOut(out), Val(k), Val(kElements)});
      }
      return Values{out};
    });
  }
  return MakeBare();
}

absl::Status BenchWorld::MakeBare() {
  if (shape_.copied > 0) {
    std::vector<IngestCopy> copies;
    for (uint32_t i = 0; i < shape_.copied; ++i) {
      copies.push_back({TensorAt(shape_.copied + i).word(), TensorAt(i).word(), SlotLayout()});
    }
    plan_ = IngestPlan::For(copies, {});
  }
  if (on_.is_host()) return MakeBareOnHost();
  std::vector<BareLaunch> launches;
  if (!plan_.empty()) {
    bare_ingest_ = BareIngest(plan_[0]);
    launches.push_back(bare_ingest_);
  }
  const Address slot = TensorAt(0).word();
  const uint32_t by = 1;
  for (uint32_t k = 0; k < shape_.kernels; ++k) {
    launches.push_back({std::get<CudaSymbol>(IncrementKernel().cuda()).symbol, kShape.grid,
                        kShape.block, {&slot, &by, &kElements}});
  }
  for (uint32_t f = 0; f < shape_.functions; ++f) {
    GRAPHTREE_ASSIGN_OR_RETURN(
        std::unique_ptr<BareGraph> bare,
        BareGraph::Capture(launches, bare_.empty() ? nullptr : bare_[0].get()));
    bare_.push_back(std::move(bare));
  }
  return absl::OkStatus();
}

absl::Status BenchWorld::MakeBareOnHost() {
  const auto launches = [this] {
    for (const IngestPlan& plan : plan_) {
      const Argument table = plan.Table();
      GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(plan.kernel(), plan.shape(), {&table, 1}));
    }
    const std::vector<Argument> arguments = {Argument::InOut(TensorAt(0).raw_bytes()),
                                             Argument::Value(uint32_t{1}),
                                             Argument::Value(kElements)};
    for (uint32_t k = 0; k < shape_.kernels; ++k) {
      GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(IncrementKernel(), kShape, arguments));
    }
    return absl::OkStatus();
  };
  for (uint32_t f = 0; f < shape_.functions; ++f) {
    GRAPHTREE_ASSIGN_OR_RETURN(HostGraph host, on_.Capture(launches));
    host_.push_back(std::move(host));
  }
  return absl::OkStatus();
}

void BenchWorld::Drain() {
  on_.stream().Synchronize().IgnoreError();
  if (!bare_.empty()) bare_[0]->Synchronize().IgnoreError();
}

absl::Status BenchWorld::bare_status() {
  return bare_.empty() ? absl::OkStatus() : bare_[0]->Synchronize();
}

absl::Status BenchWorld::WarmUp() {
  for (uint32_t i = 0; i < 3 * shape_.siblings + 3; ++i) GRAPHTREE_RETURN_IF_ERROR(Step());
  return on_.stream().Synchronize();
}

// The static inputs stay; the copied ones alternate between two places; siblings take turns.
void BenchWorld::NextInputs() {
  ++turn_;
  inputs_.resize(shape_.statics + shape_.copied);
  for (uint32_t i = 0; i < shape_.statics && inputs_[i].is_none(); ++i) {
    inputs_[i] = TensorAt(2 * shape_.copied + i);
  }
  if (shape_.siblings > 1) {
    const uint32_t turns = used_siblings_ == 0 ? shape_.siblings : used_siblings_;
    inputs_[0] =
        TensorAt(2 * shape_.copied + shape_.statics + first_sibling_ + turn_ % turns);
  }
  for (uint32_t i = 0; i < shape_.copied; ++i) {
    inputs_[shape_.statics + i] = TensorAt((turn_ % 2) * shape_.copied + i);
  }
}

absl::Status BenchWorld::Call(uint32_t function) {
  if (function > 0) {
    inputs_.resize(shape_.statics + 1);
    inputs_.back() = std::move(outputs_[0]);
  }
  return tree_->Run(function, absl::MakeSpan(inputs_), on_.stream(), &outputs_);
}

absl::Status BenchWorld::Step() {
  NextInputs();
  tree_->BeginStep();
  for (uint32_t f = 0; f < shape_.functions; ++f) GRAPHTREE_RETURN_IF_ERROR(Call(f));
  return absl::OkStatus();
}

absl::StatusOr<StepTimes> BenchWorld::TimedStep() {
  StepTimes times;
  NextInputs();
  tree_->BeginStep();
  for (uint32_t f = 0; f < shape_.functions; ++f) {
    if (f % 32 == 31 || f + 1 == shape_.functions) Drain();
    const double start = bench::NowNs();
    GRAPHTREE_RETURN_IF_ERROR(Call(f));
    const double taken = bench::NowNs() - start;
    if (f == 0) times.first_ns = taken;
    if (f + 1 == shape_.functions) times.last_ns = taken;
  }
  Drain();
  return times;
}

void BenchWorld::BareStep() {
  if (!plan_.empty()) {
    ++turn_;
    for (uint32_t i = 0; i < shape_.copied; ++i) {
      plan_[0].Retarget(i, TensorAt((turn_ % 2) * shape_.copied + i).word());
    }
    if (!bare_.empty()) {
      bare_[0]->Patch(0, bare_ingest_);
    } else {
      const Argument table = plan_[0].Table();
      host_[0].executable->PatchKernel(0, plan_[0].kernel(), plan_[0].shape(), {&table, 1})
          .IgnoreError();
    }
  }
  for (const std::unique_ptr<BareGraph>& bare : bare_) bare->Launch();
  for (const HostGraph& host : host_) host.executable->Launch(on_.stream()).IgnoreError();
}

}  // namespace graphtree
