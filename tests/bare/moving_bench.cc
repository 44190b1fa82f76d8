// What an input that moves costs: a static input that comes at many addresses in turn beside the
// bare patch and launch, and where copying a large input and patching the ops that take it cross.
//
// The rows of the second kind are whole times, the device's work included: `patch` wins where ours
// is smaller. TreeOptions::patch_bytes is set by them.
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/bare/bare_graph.h"
#include "tests/bare/bench_device.h"
#include "tests/kernels/kernels.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr uint32_t kElements = 256;
constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};

struct MovingShape {
  uint64_t bytes = kElements * 4;  // of the input
  uint32_t ops = 1;                // that take it
  uint32_t kernels = 10;           // in the function, those included
  uint32_t buffers = 2;            // it comes at in turn
  bool is_static = false;
};

// A tree for each threshold, over the same buffers, and the bare graph.
class MovingWorld {
 public:
  static absl::StatusOr<std::unique_ptr<MovingWorld>> Make(const char* device,
                                                           const MovingShape& shape) {
    std::unique_ptr<MovingWorld> world(new MovingWorld(shape));
    GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
    return world;
  }

  ~MovingWorld() {
    outputs_.clear();
    if (on_.is_open()) Drain();
  }

  Tree& patching() { return *patching_; }
  Tree& copying() { return *copying_; }

  absl::Status Step(Tree& tree) {
    tree.BeginStep();
    inputs_[0] = Buffer(turn_++ % shape_.buffers);
    return tree.Run(0, absl::MakeSpan(inputs_), on_.stream(), &outputs_);
  }
  absl::Status WarmUp(Tree& tree) {
    for (uint32_t i = 0; i < 2 * shape_.buffers + 2; ++i) GRAPHTREE_RETURN_IF_ERROR(Step(tree));
    return on_.stream().Synchronize();
  }
  // A step and all of its work.
  absl::Status WholeStep(Tree& tree) {
    GRAPHTREE_RETURN_IF_ERROR(Step(tree));
    return on_.stream().Synchronize();
  }

  // One patch and one launch.
  void BareStep() {
    const Address input = Buffer(turn_++ % shape_.buffers).word();
    if (bare_ != nullptr) {
      bare_->Patch(0, Adding(&input));
      bare_->Launch();
      return;
    }
    host_.executable->PatchKernel(0, AddKernel(), kShape, ArgumentsAt(input)).IgnoreError();
    host_.executable->Launch(on_.stream()).IgnoreError();
  }

  void Drain() {
    on_.stream().Synchronize().IgnoreError();
    if (bare_ != nullptr) bare_->Synchronize().IgnoreError();
  }
  absl::Status bare_status() {
    return bare_ != nullptr ? bare_->Synchronize() : absl::OkStatus();
  }

 private:
  explicit MovingWorld(const MovingShape& shape) : shape_(shape) {}

  // The buffers, then a slot for the bare graph's output.
  Tensor Buffer(uint32_t index) const {
    return Tensor::Foreign(on_.memory().base + index * shape_.bytes, layout_);
  }
  AddressRange BareOut() const {
    return {on_.memory().base + shape_.buffers * shape_.bytes, kElements * 4};
  }
  // By reference: the argument's value lives with the caller.
  BareLaunch Adding(const Address* input) const {
    return {std::get<CudaSymbol>(AddKernel().cuda()).symbol, kShape.grid, kShape.block,
            {&bare_out_, input, input, &kElements}};
  }
  std::vector<Argument> ArgumentsAt(Address input) const {
    const AddressRange in = {input, kElements * 4};
    return {Argument::Out(BareOut()), Argument::In(in), Argument::In(in),
            Argument::Value(kElements)};
  }

  absl::Status SetUp(const char* device);
  absl::StatusOr<std::unique_ptr<Tree>> NewTree(uint64_t patch_bytes);
  absl::Status MakeBare();

  const MovingShape shape_;
  const Layout* const layout_ =
      Layout::Of(DType::kI32, {static_cast<int64_t>(shape_.bytes / 4)});
  BenchDevice on_;
  Values inputs_ = Values(1);
  Values outputs_;
  uint32_t turn_ = 0;
  Address bare_out_ = 0;
  HostGraph host_;  // on the host, whose own calls are the bare ones
  std::unique_ptr<BareGraph> bare_;  // on CUDA
  std::unique_ptr<Tree> patching_;
  std::unique_ptr<Tree> copying_;
};

absl::Status MovingWorld::SetUp(const char* device) {
  GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, shape_.buffers * shape_.bytes + kElements * 4));
  bare_out_ = BareOut().base;
  GRAPHTREE_ASSIGN_OR_RETURN(patching_, NewTree(1));
  GRAPHTREE_ASSIGN_OR_RETURN(copying_, NewTree(~uint64_t{0}));
  return MakeBare();
}

absl::StatusOr<std::unique_ptr<Tree>> MovingWorld::NewTree(uint64_t patch_bytes) {
  TreeOptions options;
  options.pool_bytes = uint64_t{1} << 30;
  options.patch_bytes = patch_bytes;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Tree> tree, Tree::Create(on_.device(), options));
  FunctionOptions function;
  if (shape_.is_static) function.static_inputs = {0};
  tree->Register("moving", function, [this](Launcher& on, Values& inputs) {
    Tensor out = on.Empty(DType::kI32, {kElements});
    if (!on.ok()) return Values();
    const Tensor input = Tensor::From(inputs[0]);
    for (uint32_t k = 0; k < shape_.kernels; ++k) {
      if (k < shape_.ops) {
        on.Launch(AddKernel(), kShape, {Out(out), In(input), In(input), Val(kElements)});
      } else {
        on.Launch(IncrementKernel(), kShape, {InOut(out), Val(k), Val(kElements)});
      }
    }
    return Values{out};
  });
  return tree;
}

absl::Status MovingWorld::MakeBare() {
  const Address input = Buffer(0).word();
  const uint32_t by = 1;
  if (!on_.is_host()) {
    std::vector<BareLaunch> launches = {Adding(&input)};
    for (uint32_t k = 1; k < shape_.kernels; ++k) {
      launches.push_back({std::get<CudaSymbol>(IncrementKernel().cuda()).symbol, kShape.grid,
                          kShape.block, {&bare_out_, &by, &kElements}});
    }
    GRAPHTREE_ASSIGN_OR_RETURN(bare_, BareGraph::Capture(launches));
    return absl::OkStatus();
  }
  GRAPHTREE_ASSIGN_OR_RETURN(host_, on_.Capture([&] {
    GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(AddKernel(), kShape, ArgumentsAt(input)));
    const std::vector<Argument> increment = {Argument::InOut(BareOut()), Argument::Value(by),
                                             Argument::Value(kElements)};
    for (uint32_t k = 1; k < shape_.kernels; ++k) {
      GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(IncrementKernel(), kShape, increment));
    }
    return absl::OkStatus();
  }));
  return absl::OkStatus();
}

bench::TimingOptions OptionsFor(MovingWorld* world) {
  bench::TimingOptions options;
  options.most_calls = 48;
  options.batches = 301;
  options.between = [world] { world->Drain(); };
  return options;
}

Outcome SixteenAddresses(const char* device) {
  auto world = MovingWorld::Make(device, {.buffers = 16, .is_static = true});
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  MovingWorld& w = **world;
  GRAPHTREE_RETURN_IF_ERROR(w.WarmUp(w.patching()));
  absl::Status status;
  const Measurement pair = ComparePair([&] { status.Update(w.Step(w.patching())); },
                                       [&] { w.BareStep(); }, OptionsFor(&w));
  if (!status.ok()) return status;
  if (absl::Status bare = w.bare_status(); !bare.ok()) return bare;
  const TreeStats stats = w.patching().stats();
  if (stats.recordings != 2 || stats.patched_inputs != 1) {
    return absl::InternalError(absl::StrCat(stats.recordings, " recordings, of which ",
                                            stats.patched_inputs, " patch their input"));
  }
  return pair;
}

Outcome PatchBesideCopy(const char* device, uint64_t bytes, uint32_t ops) {
  auto world = MovingWorld::Make(device, {.bytes = bytes, .ops = ops, .kernels = 16});
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  MovingWorld& w = **world;
  GRAPHTREE_RETURN_IF_ERROR(w.WarmUp(w.patching()));
  GRAPHTREE_RETURN_IF_ERROR(w.WarmUp(w.copying()));
  if (w.patching().stats().patched_inputs != 1 || w.copying().stats().copied_inputs != 1) {
    return absl::InternalError("the thresholds did not choose");
  }
  absl::Status status;
  const Measurement pair =
      ComparePair([&] { status.Update(w.WholeStep(w.patching())); },
                  [&] { status.Update(w.WholeStep(w.copying())); }, OptionsFor(&w));
  if (!status.ok()) return status;
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    RegisterRow({.name = absl::StrCat("tree.", device, ".moving.addresses_16"),
                 .ours = "a static input at 16 addresses in turn",
                 .against = "a bare patch and launch",
                 .goal = "difference <= 300 ns"},
                [device] { return SixteenAddresses(device); });
    for (const uint64_t kib : {64, 1024, 16384}) {
      for (const uint32_t ops : {1, 4, 16}) {
        RegisterRow({.name = absl::StrCat("tree.", device, ".moving.", kib, "_kib_", ops, "_ops"),
                     .ours = absl::StrCat("patching ", ops, " ops, whole time"),
                     .against = absl::StrCat("copying ", kib, " KiB")},
                    [device, kib, ops] { return PatchBesideCopy(device, kib << 10, ops); });
      }
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
