// Sets both sides up, and makes their steps.
#include "tests/bare/step_bench_world.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "tests/kernels/kernels.h"

namespace graphtree {
namespace {

constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};
constexpr uint32_t kWords = 256;  // of what a kernel works on
const uint32_t kOne = 1;

const void* SymbolOf(const Kernel& kernel) { return std::get<CudaSymbol>(kernel.cuda()).symbol; }

}  // namespace

absl::StatusOr<std::unique_ptr<StepBenchWorld>> StepBenchWorld::Make(const std::string& device,
                                                                     const StepShape& shape) {
  std::unique_ptr<StepBenchWorld> world(new StepBenchWorld(shape));
  GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
  return world;
}

StepBenchWorld::~StepBenchWorld() {
  outputs_.clear();
  if (on_.is_open()) Drain();
}

// A piece of the caller's memory: the main graph's, the preparation's, then one for each slot.
AddressRange StepBenchWorld::Words(uint32_t index) const {
  const uint64_t bytes = std::max<uint64_t>(kWords * sizeof(uint32_t), shape_.bytes);
  return {on_.memory().base + index * bytes, bytes};
}

absl::Status StepBenchWorld::SetUp(const std::string& device) {
  GRAPHTREE_RETURN_IF_ERROR(
      on_.Open(device, (shape_.slots + 2) * std::max<uint64_t>(shape_.bytes, 1024)));
  GRAPHTREE_ASSIGN_OR_RETURN(pinned_, on_.device().memory().AllocateHost(shape_.bytes));
  data_.resize(rows());
  RuntimeOptions options;
  options.tree.pool_bytes = uint64_t{1} << 30;
  GRAPHTREE_ASSIGN_OR_RETURN(runtime_, Runtime::Create(on_.device(), options));
  GRAPHTREE_RETURN_IF_ERROR(AddProgram());
  GRAPHTREE_RETURN_IF_ERROR(runtime_->Record(program_, on_.stream()));
  GRAPHTREE_RETURN_IF_ERROR(on_.stream().Synchronize());
  return MakeBare();
}

absl::Status StepBenchWorld::AddProgram() {
  ProgramOptions options;
  options.name = "step";
  for (uint32_t i = 0; i < shape_.slots; ++i) {
    options.slots.push_back({.name = absl::StrCat("slot", i),
                             .type = DType::kI32,
                             .sizes = {rows()},
                             .rows = KeyField::kTokens});
  }
  for (uint32_t i = 0; i < shape_.dependencies; ++i) {
    options.deps.push_back(runtime_->DeclareDep(absl::StrCat("dep", i)));
  }
  const Layout* words = Layout::Of(DType::kI32, {kWords});
  const auto launches = [words](Launcher& on, Address at, uint32_t count) {
    const Tensor target = Tensor::Foreign(at, words);
    for (uint32_t k = 0; k < count; ++k) {
      on.Launch(IncrementKernel(), kShape, {InOut(target), Val(kOne), Val(kWords)});
    }
    return Values{};
  };
  options.prepare = [this, launches](Launcher& on, const ProgramInputs&) {
    return launches(on, Words(1).base, shape_.preparations);
  };
  options.body = [this, launches](Launcher& on, const ProgramInputs&) {
    return launches(on, Words(0).base, shape_.kernels);
  };
  GRAPHTREE_ASSIGN_OR_RETURN(program_, runtime_->AddProgram(std::move(options)));
  return runtime_->AddShapes(program_, {{.tokens = static_cast<int32_t>(rows())}});
}

absl::Status StepBenchWorld::MakeBare() {
  if (on_.is_host()) {
    GRAPHTREE_ASSIGN_OR_RETURN(host_, on_.Capture([this] {
      const std::vector<Argument> arguments = {
          Argument::InOut({Words(0).base, kWords * sizeof(uint32_t)}), Argument::Value(kOne),
          Argument::Value(kWords)};
      for (uint32_t k = 0; k < shape_.kernels; ++k) {
        GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(IncrementKernel(), kShape, arguments));
      }
      return absl::OkStatus();
    }));
    return absl::OkStatus();
  }
  const Address at = Words(0).base;
  const std::vector<BareLaunch> launches(
      shape_.kernels,
      {SymbolOf(IncrementKernel()), kShape.grid, kShape.block, {&at, &kOne, &kWords}});
  GRAPHTREE_ASSIGN_OR_RETURN(bare_, BareGraph::Capture(launches));
  return absl::OkStatus();
}

absl::Status StepBenchWorld::Step() {
  const Key key = {.tokens = static_cast<int32_t>(staged_rows())};
  GRAPHTREE_ASSIGN_OR_RETURN(graphtree::Step step, runtime_->Begin(program_, key, on_.stream()));
  for (SlotId slot = 0; slot < shape_.slots; ++slot) {
    GRAPHTREE_RETURN_IF_ERROR(
        step.Stage(slot, HostRows{data_.data(), DType::kI32, staged_rows()}));
  }
  return step.Run(&outputs_);
}

void StepBenchWorld::BareStep() {
  if (bare_ != nullptr) return bare_->Launch();
  host_.executable->Launch(on_.stream()).IgnoreError();
}

// A copy for each slot, a kernel for each padded one and for each preparation.
void StepBenchWorld::SeparateStep() {
  const uint64_t bytes = staged_rows() * sizeof(int32_t);
  const uint64_t slot_bytes = rows() * sizeof(int32_t);
  const uint32_t kernels = shape_.preparations + (shape_.is_padded ? shape_.slots : 0);
  const Address target = Words(1).base;
  for (uint32_t i = 0; i < shape_.slots; ++i) {
    char* const from = static_cast<char*>(pinned_->data()) + i * slot_bytes;
    std::copy_n(reinterpret_cast<const char*>(data_.data()), bytes, from);
    if (bare_ != nullptr) {
      bare_->CopyFromHost(Words(2 + i).base, from, bytes);
    } else {
      on_.stream().Copy(Words(2 + i).base, AddressOf(from), bytes).IgnoreError();
    }
  }
  const std::vector<Argument> arguments = {
      Argument::InOut({target, kWords * sizeof(uint32_t)}), Argument::Value(kOne),
      Argument::Value(kWords)};
  for (uint32_t k = 0; k < kernels; ++k) {
    if (bare_ != nullptr) {
      bare_->LaunchOne({SymbolOf(IncrementKernel()), kShape.grid, kShape.block,
                        {&target, &kOne, &kWords}});
    } else {
      on_.stream().Launch(IncrementKernel(), kShape, arguments).IgnoreError();
    }
  }
  BareStep();
}

void StepBenchWorld::Drain() {
  on_.stream().Synchronize().IgnoreError();
  if (bare_ != nullptr) bare_->Synchronize().IgnoreError();
}

uint64_t StepBenchWorld::replays() const {
  const RuntimeStats stats = runtime_->stats();
  return stats.why[static_cast<size_t>(Why::kHit)] + stats.why[static_cast<size_t>(Why::kCover)];
}

absl::Status StepBenchWorld::bare_status() {
  return bare_ == nullptr ? absl::OkStatus() : bare_->Synchronize();
}

}  // namespace graphtree
