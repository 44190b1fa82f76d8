// Sets both sides up.
#include "tests/bare/plan_world.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "absl/types/span.h"
#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "tests/kernels/kernels.h"

namespace graphtree {
namespace {

constexpr int64_t kWidth = 4096;        // words of a row
constexpr uint32_t kWordsOfToken = 64;  // that kernels work on
constexpr uint32_t kKernelsOfLayer = 8;

LaunchShape ShapeOf(uint32_t count) {
  LaunchShape shape;
  shape.grid = {(count + 255) / 256};
  shape.block = {256};
  return shape;
}

uint32_t CountOf(int32_t tokens) { return static_cast<uint32_t>(tokens) * kWordsOfToken; }

}  // namespace

std::vector<int32_t> EngineSizes() {
  std::vector<int32_t> sizes = {1, 2, 4};
  for (int32_t size = 8; size <= 256; size += 8) sizes.push_back(size);
  for (int32_t size = 272; size <= 512; size += 16) sizes.push_back(size);
  return sizes;
}

absl::StatusOr<std::unique_ptr<PlanWorld>> PlanWorld::Make(const std::string& device,
                                                           const PlanWorldOptions& options) {
  std::unique_ptr<PlanWorld> world(new PlanWorld(options));
  GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
  return world;
}

PlanWorld::~PlanWorld() {
  if (on_.is_open()) on_.stream().Synchronize().IgnoreError();
  ForgetBare();
  CloseRuntime();
}

absl::Status PlanWorld::SetUp(const std::string& device) {
  const uint64_t most = static_cast<uint64_t>(options_.tokens.back()) * kWidth * 4;
  GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, 2 * most));
  ids_.resize(options_.tokens.back());
  if (on_.is_host()) {
    GRAPHTREE_ASSIGN_OR_RETURN(bare_stream_, on_.device().NewStream());
  } else {
    GRAPHTREE_ASSIGN_OR_RETURN(bare_, BareNew::Make());
  }
  return OpenRuntime();
}

absl::Status PlanWorld::OpenRuntime() {
  CloseRuntime();
  RuntimeOptions options;
  options.tree.pool_bytes = uint64_t{1} << 30;
  options.tree.budget.executables = 1 << 16;
  options.tree.budget.executable_bytes = uint64_t{8} << 30;
  options.records_while_serving = false;
  options.watches_steps = options_.watches_steps;
  GRAPHTREE_ASSIGN_OR_RETURN(runtime_, Runtime::Create(on_.device(), options));
  GRAPHTREE_ASSIGN_OR_RETURN(program_, AddProgram(options_.program, options_.lane));
  return absl::OkStatus();
}

void PlanWorld::CloseRuntime() { runtime_ = nullptr; }

absl::StatusOr<ProgramId> PlanWorld::AddProgram(const std::string& name, uint32_t lane) {
  ProgramOptions options;
  options.name = name;
  options.lane = lane;
  options.slots = {{.name = "ids",
                    .type = DType::kI32,
                    .sizes = {options_.tokens.back()},
                    .rows = KeyField::kTokens}};
  options.body = [this](Launcher& on, const ProgramInputs& in) { return Body(on, in); };
  GRAPHTREE_ASSIGN_OR_RETURN(const ProgramId program, runtime_->AddProgram(options));
  std::vector<Key> keys;
  for (const int32_t tokens : options_.tokens) keys.push_back({.tokens = tokens});
  for (const Mode mode : options_.modes) {
    GRAPHTREE_RETURN_IF_ERROR(runtime_->AddShapes(program, keys, mode));
  }
  return program;
}

Values PlanWorld::Body(Launcher& on, const ProgramInputs& in) const {
  const int32_t tokens = in.key().tokens;
  const uint32_t count = CountOf(tokens);
  const LaunchShape shape = ShapeOf(count);
  Tensor x = on.Empty(DType::kI32, {tokens, kWidth});
  if (!on.ok()) return {};
  on.Launch(FillPatternKernel(), shape, {Out(x), Val(1u), Val(count)});
  for (uint32_t layer = 0; layer < options_.layers && on.ok(); ++layer) {
    for (uint32_t kernel = 0; kernel < kKernelsOfLayer; ++kernel) {
      Tensor y = on.Empty(DType::kI32, {tokens, kWidth});
      if (!on.ok()) return {};
      on.Launch(AddKernel(), shape, {Out(y), In(x), In(x), Val(count)});
      x = std::move(y);
    }
    if (in.mode() != Mode::kSegmented) continue;
    on.Break("attention", {InOut(x)}, [count, shape](Launcher& at, absl::Span<const Tensor> in) {
      at.Launch(IncrementKernel(), shape, {InOut(in[0]), Val(1u), Val(count)});
    });
  }
  return {x};
}

absl::Status PlanWorld::Step(ProgramId program, int32_t tokens, Stream& stream) {
  const Key key = {.tokens = tokens};
  GRAPHTREE_ASSIGN_OR_RETURN(graphtree::Step step, runtime_->Begin(program, key, stream));
  GRAPHTREE_RETURN_IF_ERROR(step.Stage(0, HostRows{ids_.data(), DType::kI32, tokens}));
  Values outputs;
  return step.Run(&outputs);
}

absl::StatusOr<uint64_t> PlanWorld::FreeBytes() {
  GRAPHTREE_RETURN_IF_ERROR(on_.stream().Synchronize());
  GRAPHTREE_ASSIGN_OR_RETURN(const MemoryInfo info, on_.device().memory().Info());
  return info.free_bytes;
}

const Kernel& PlanWorld::Op::kernel() const {
  switch (kind) {
    case OpKind::kFill: return FillPatternKernel();
    case OpKind::kAdd: return AddKernel();
    case OpKind::kIncrement: return IncrementKernel();
  }
  return AddKernel();
}

PlanWorld::Ops PlanWorld::LayerOps(int32_t tokens, uint32_t layer) const {
  const Address buffers[] = {on_.memory().base, on_.memory().base + on_.memory().bytes / 2};
  const uint32_t count = CountOf(tokens);
  Ops ops;
  if (layer == 0) ops.push_back(std::make_unique<Op>(Op{OpKind::kFill, buffers[0], 0, count}));
  for (uint32_t kernel = 0; kernel < kKernelsOfLayer; ++kernel) {
    const uint32_t turn = kernel % 2;
    ops.push_back(
        std::make_unique<Op>(Op{OpKind::kAdd, buffers[1 - turn], buffers[turn], count}));
  }
  return ops;
}

PlanWorld::Ops PlanWorld::PartOps(int32_t tokens) const {
  Ops ops;
  ops.push_back(std::make_unique<Op>(
      Op{OpKind::kIncrement, on_.memory().base, 0, CountOf(tokens)}));
  return ops;
}

absl::Status PlanWorld::LaunchOnHost(const Ops& ops) {
  for (const std::unique_ptr<Op>& op : ops) {
    const AddressRange target = {op->target, uint64_t{op->count} * 4};
    const AddressRange source = {op->source, uint64_t{op->count} * 4};
    std::vector<Argument> arguments = {op->kind == OpKind::kIncrement ? Argument::InOut(target)
                                                                      : Argument::Out(target)};
    if (op->kind == OpKind::kAdd) {
      arguments.insert(arguments.end(), 2, Argument::In(source));
    } else {
      arguments.push_back(Argument::Value(op->word));
    }
    arguments.push_back(Argument::Value(op->count));
    GRAPHTREE_RETURN_IF_ERROR(bare_stream_->Launch(op->kernel(), ShapeOf(op->count), arguments));
  }
  return absl::OkStatus();
}

absl::Status PlanWorld::MeetOnHost(const Ops& ops) {
  GRAPHTREE_RETURN_IF_ERROR(LaunchOnHost(ops));
  GRAPHTREE_RETURN_IF_ERROR(bare_stream_->BeginCapture(CaptureMode::kThreadLocal));
  GRAPHTREE_RETURN_IF_ERROR(LaunchOnHost(ops));
  HostGraph made;
  GRAPHTREE_ASSIGN_OR_RETURN(made.graph, bare_stream_->EndCapture());
  GRAPHTREE_ASSIGN_OR_RETURN(made.executable, made.graph->Instantiate());
  GRAPHTREE_RETURN_IF_ERROR(made.executable->Launch(*bare_stream_));
  host_graphs_.push_back(std::move(made));
  return absl::OkStatus();
}

std::vector<BareLaunch> PlanWorld::LaunchesOf(const Ops& ops) {
  std::vector<BareLaunch> launches;
  for (const std::unique_ptr<Op>& op : ops) {
    const LaunchShape shape = ShapeOf(op->count);
    std::vector<const void*> arguments = {&op->target, &op->word, &op->count};
    if (op->kind == OpKind::kAdd) {
      arguments = {&op->target, &op->source, &op->source, &op->count};
    }
    launches.push_back({std::get<CudaSymbol>(op->kernel().cuda()).symbol, shape.grid, shape.block,
                        std::move(arguments)});
  }
  return launches;
}

absl::Status PlanWorld::MeetOps(const Ops& ops, bool records) {
  if (bare_ == nullptr) return records ? MeetOnHost(ops) : LaunchOnHost(ops);
  if (records) {
    bare_->Meet(LaunchesOf(ops));
  } else {
    bare_->Launch(LaunchesOf(ops));
  }
  return absl::OkStatus();
}

absl::Status PlanWorld::MeetBare(int32_t tokens, Mode mode) {
  Ops graph;
  const auto end_graph = [&]() -> absl::Status {
    ++bare_graphs_;
    GRAPHTREE_RETURN_IF_ERROR(MeetOps(graph, /*records=*/true));
    kept_.push_back(std::exchange(graph, {}));
    return absl::OkStatus();
  };
  for (uint32_t layer = 0; layer < options_.layers; ++layer) {
    Ops ops = LayerOps(tokens, layer);
    std::move(ops.begin(), ops.end(), std::back_inserter(graph));
    if (mode != Mode::kSegmented) continue;
    GRAPHTREE_RETURN_IF_ERROR(end_graph());
    // Once in the eager run, and once between two graphs.
    Ops part = PartOps(tokens);
    for (int run = 0; run < 2; ++run) GRAPHTREE_RETURN_IF_ERROR(MeetOps(part, /*records=*/false));
    kept_.push_back(std::move(part));
  }
  return graph.empty() ? absl::OkStatus() : end_graph();
}

absl::Status PlanWorld::DrainBare() {
  return bare_ != nullptr ? bare_->Synchronize() : bare_stream_->Synchronize();
}

void PlanWorld::ForgetBare() {
  if (bare_ != nullptr) bare_->Forget();
  if (bare_stream_ != nullptr) bare_stream_->Synchronize().IgnoreError();
  host_graphs_.clear();
  kept_.clear();
  bare_graphs_ = 0;
}

}  // namespace graphtree
