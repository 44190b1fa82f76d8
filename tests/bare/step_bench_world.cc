// Sets all sides up, and makes their steps.
#include "tests/bare/step_bench_world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "tests/kernels/kernels.h"

namespace graphtree {
namespace {

constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};
constexpr uint32_t kWords = 256;  // of what a kernel works on
constexpr uint64_t kLeastPiece = kWords * sizeof(uint32_t);
constexpr uint64_t kBlocksByHand = 32;
const uint32_t kOne = 1;

BareKernel Increment(AddressRange words) {
  return BareKernel(IncrementKernel(), kShape,
                    {Argument::InOut(words), Argument::Value(kOne), Argument::Value(kWords)});
}

// One thread for each word.
BareKernel Ingest(AddressRange target, AddressRange source) {
  const auto words = static_cast<uint32_t>(source.bytes / sizeof(uint32_t));
  const LaunchShape shape = {.grid = {(words + 255) / 256}, .block = {256}};
  return BareKernel(StridedCopyKernel(), shape,
                    {Argument::Out(target), Argument::In(source), Argument::Value(kOne),
                     Argument::Value(words)});
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepBenchWorld>> StepBenchWorld::Make(const std::string& device,
                                                                     const StepShape& shape) {
  std::unique_ptr<StepBenchWorld> world(new StepBenchWorld(shape));
  GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
  return world;
}

StepBenchWorld::~StepBenchWorld() {
  outputs_.clear();
  if (on_.is_open() && bare_ != nullptr) Drain();
}

AddressRange StepBenchWorld::Piece(uint32_t index) const {
  const uint64_t bytes = std::max<uint64_t>(kLeastPiece, slot_bytes());
  return {on_.memory().base + index * bytes, bytes};
}

absl::Status StepBenchWorld::SetUp(const std::string& device) {
  host_slots_ = std::count(shape_.slots.begin(), shape_.slots.end(), RowsFrom::kHost);
  const uint64_t pieces = 2 + 2 * shape_.slots.size();
  GRAPHTREE_RETURN_IF_ERROR(
      on_.Open(device, pieces * std::max<uint64_t>(kLeastPiece, slot_bytes())));
  GRAPHTREE_ASSIGN_OR_RETURN(
      pinned_, on_.device().memory().AllocateHost(kBlocksByHand * host_slots_ * slot_bytes()));
  std::memset(pinned_->data(), 0, pinned_->bytes());
  data_.resize(shape_.rows);
  RuntimeOptions options;
  options.tree.pool_bytes = uint64_t{1} << 30;
  GRAPHTREE_ASSIGN_OR_RETURN(runtime_, Runtime::Create(on_.device(), options));
  GRAPHTREE_RETURN_IF_ERROR(AddProgram());
  GRAPHTREE_RETURN_IF_ERROR(runtime_->Record(program_, on_.stream()));
  GRAPHTREE_RETURN_IF_ERROR(on_.stream().Synchronize());
  return RecordBare();
}

absl::Status StepBenchWorld::AddProgram() {
  ProgramOptions options;
  options.name = "step";
  for (size_t i = 0; i < shape_.slots.size(); ++i) {
    options.slots.push_back({.name = absl::StrCat("slot", i),
                             .type = DType::kI32,
                             .sizes = {shape_.rows},
                             .rows = KeyField::kTokens});
  }
  for (uint32_t i = 0; i < shape_.dependencies; ++i) {
    GRAPHTREE_ASSIGN_OR_RETURN(const DepId dep, runtime_->DeclareDep(absl::StrCat("dep", i)));
    options.deps.push_back(dep);
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
    return launches(on, PrepareWords().base, shape_.preparations);
  };
  options.body = [this, launches](Launcher& on, const ProgramInputs&) {
    return launches(on, MainWords().base, shape_.kernels);
  };
  GRAPHTREE_ASSIGN_OR_RETURN(program_, runtime_->AddProgram(std::move(options)));
  return runtime_->AddShapes(program_, {{.tokens = static_cast<int32_t>(shape_.rows)}});
}

absl::Status StepBenchWorld::RecordBare() {
  bare_ = BareCalls::Make(on_);
  main_ = Increment({MainWords().base, kLeastPiece});
  prepare_ = Increment({PrepareWords().base, kLeastPiece});
  std::vector<const BareKernel*> kernels(shape_.kernels, &*main_);
  GRAPHTREE_RETURN_IF_ERROR(bare_->Record(kernels));
  kernels.insert(kernels.begin(), shape_.preparations, &*prepare_);
  if (host_slots_ > 0) {
    const uint64_t bytes = host_slots_ * slot_bytes();
    ingest_ = Ingest({TheirSlot(0).base, bytes}, {AddressOf(pinned_->data()), bytes});
    kernels.insert(kernels.begin(), &*ingest_);
  }
  GRAPHTREE_RETURN_IF_ERROR(bare_->Record(kernels));
  return bare_->RecordCalls([this] {
    PrepareTheirs(slot_bytes());
    for (uint32_t i = 0; i < shape_.kernels; ++i) bare_->Launch(*main_);
  });
}

absl::Status StepBenchWorld::Step() {
  const Key key = {.tokens = static_cast<int32_t>(shape_.staged_rows)};
  GRAPHTREE_ASSIGN_OR_RETURN(graphtree::Step step, runtime_->Begin(program_, key, on_.stream()));
  for (SlotId slot = 0; slot < shape_.slots.size(); ++slot) {
    switch (shape_.slots[slot]) {
      case RowsFrom::kHost:
        GRAPHTREE_RETURN_IF_ERROR(
            step.Stage(slot, HostRows{data_.data(), DType::kI32, shape_.staged_rows}));
        break;
      case RowsFrom::kDevice:
        GRAPHTREE_RETURN_IF_ERROR(
            step.Stage(slot, DeviceRows{Source(slot).base, DType::kI32, shape_.staged_rows}));
        break;
      case RowsFrom::kValue:
        GRAPHTREE_RETURN_IF_ERROR(step.Stage(slot, 0.0));
        break;
    }
  }
  return step.Run(&outputs_);
}

void StepBenchWorld::MakeRows(int32_t* rows) {
  std::fill_n(rows, shape_.staged_rows, ++turn_);
}

absl::Status StepBenchWorld::StepInPlace() {
  const Key key = {.tokens = static_cast<int32_t>(shape_.staged_rows)};
  GRAPHTREE_ASSIGN_OR_RETURN(graphtree::Step step, runtime_->Begin(program_, key, on_.stream()));
  for (SlotId slot = 0; slot < shape_.slots.size(); ++slot) {
    GRAPHTREE_ASSIGN_OR_RETURN(void* const rows, step.Buffer(slot, shape_.staged_rows));
    MakeRows(static_cast<int32_t*>(rows));
  }
  return step.Run(&outputs_);
}

void StepBenchWorld::BareStepWithRows() {
  for (size_t slot = 0; slot < shape_.slots.size(); ++slot) MakeRows(data_.data());
  BareStep();
}

void StepBenchWorld::PinTheirRows() {
  for (uint64_t slot = 0; slot < host_slots_; ++slot) {
    std::memcpy(static_cast<uint8_t*>(pinned_->data()) + slot * slot_bytes(), data_.data(),
                staged_bytes());
  }
}

// Each call is what an engine has a framework do.
void StepBenchWorld::PrepareTheirs(uint64_t bytes) {
  const auto* pinned = static_cast<const uint8_t*>(pinned_->data());
  for (size_t slot = 0; slot < shape_.slots.size(); ++slot) {
    if (shape_.slots[slot] != RowsFrom::kHost) continue;
    bare_->Copy(TheirSlot(slot).base, pinned, bytes);
    pinned += slot_bytes();
  }
  for (uint32_t i = 0; i < shape_.their_fills; ++i) {
    bare_->Fill(TheirSlot(i % shape_.slots.size()).base, slot_bytes());
  }
  for (uint32_t i = 0; i < shape_.their_kernels + shape_.preparations; ++i) {
    bare_->Launch(*prepare_);
  }
}

void StepBenchWorld::TheirStep() {
  PinTheirRows();
  PrepareTheirs(staged_bytes());
  BareStep();
}

void StepBenchWorld::RecordedStep() {
  PinTheirRows();
  bare_->Replay(kRecorded);
}

void StepBenchWorld::StepByHand() {
  const uint64_t block_bytes = host_slots_ * slot_bytes();
  if (block_bytes > 0) {
    uint8_t* const block =
        static_cast<uint8_t*>(pinned_->data()) + block_++ % kBlocksByHand * block_bytes;
    for (uint64_t slot = 0; slot < host_slots_; ++slot) {
      std::memcpy(block + slot * slot_bytes(), data_.data(), slot_bytes());
    }
    ingest_->Set(1, Argument::In({AddressOf(block), block_bytes}));
    bare_->Patch(kByHand, *ingest_);
  }
  bare_->Replay(kByHand);
}

void StepBenchWorld::Drain() {
  on_.stream().Synchronize().IgnoreError();
  bare_->Synchronize().IgnoreError();
}

uint64_t StepBenchWorld::replays() const {
  const RuntimeStats stats = runtime_->stats();
  return stats.why[static_cast<size_t>(Why::kHit)] + stats.why[static_cast<size_t>(Why::kCover)];
}

}  // namespace graphtree
