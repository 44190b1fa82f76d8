// What cuts cost a replay: a function of 49 sections with nothing between them, beside bare
// launches of as many graphs; and what saving costs that a failure could ask for.
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/open.h"
#include "graphs/tree.h"
#include "tests/bare/bare_graph.h"
#include "tests/kernels/kernels.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::Skipped;

constexpr uint32_t kElements = 256;
constexpr uint32_t kSections = 49;
constexpr uint32_t kKernels = 10;  // in each
constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};

class BreaksWorld {
 public:
  // `mutates`: a static input of the caller's is written to, so that it is saved before the first
  // cut.
  static absl::StatusOr<std::unique_ptr<BreaksWorld>> Make(const char* device, bool mutates) {
    std::unique_ptr<BreaksWorld> world(new BreaksWorld(mutates));
    GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
    return world;
  }
  ~BreaksWorld() {
    outputs_.clear();
    if (stream_ != nullptr) Drain();
    tree_ = nullptr;
    while (!bare_.empty()) bare_.pop_back();  // the first one lends its stream
    executables_.clear();
    graphs_.clear();
    if (!range_.empty()) {
      device_->memory().Unmap(range_).IgnoreError();
      device_->memory().Release(range_).IgnoreError();
    }
  }

  absl::Status Step() {
    tree_->BeginStep();
    return tree_->Run(0, absl::MakeSpan(inputs_), *stream_, &outputs_);
  }
  void BareStep() {
    for (const std::unique_ptr<BareGraph>& bare : bare_) bare->Launch();
    for (const std::unique_ptr<Executable>& executable : executables_) {
      executable->Launch(*stream_).IgnoreError();
    }
  }
  void Drain() {
    stream_->Synchronize().IgnoreError();
    if (!bare_.empty()) bare_[0]->Synchronize().IgnoreError();
  }
  absl::Status bare_status() {
    return bare_.empty() ? absl::OkStatus() : bare_[0]->Synchronize();
  }
  TreeStats stats() { return tree_->stats(); }

 private:
  explicit BreaksWorld(bool mutates) : mutates_(mutates) {}
  absl::Status SetUp(const char* device);
  absl::Status MakeBare();
  Values Body(Launcher& on, const Tensor& target);

  const bool mutates_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> memory_;
  std::unique_ptr<Tree> tree_;
  Values inputs_;
  Values outputs_;
  std::vector<std::unique_ptr<BareGraph>> bare_;  // on CUDA
  // On the host, whose own calls are the bare ones.
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<std::unique_ptr<Executable>> executables_;
};

Values BreaksWorld::Body(Launcher& on, const Tensor& target) {
  for (uint32_t section = 0; section < kSections; ++section) {
    if (section > 0) on.Break("nothing", {}, [](Launcher&, absl::Span<const Tensor>) {});
    for (uint32_t i = 0; i < kKernels; ++i) {
      on.Launch(FillPatternKernel(), kShape, {Out(target), Val(i), Val(kElements)});
    }
  }
  return {target};
}

absl::Status BreaksWorld::SetUp(const char* device) {
  GRAPHTREE_ASSIGN_OR_RETURN(device_, OpenDevice(device));
  GRAPHTREE_ASSIGN_OR_RETURN(stream_, device_->NewStream());
  Memory& memory = device_->memory();
  const uint64_t bytes = memory.granularity();
  GRAPHTREE_ASSIGN_OR_RETURN(range_, memory.Reserve(bytes, {}));
  GRAPHTREE_ASSIGN_OR_RETURN(memory_, memory.Create(bytes));
  GRAPHTREE_RETURN_IF_ERROR(memory.Map(range_.base, *memory_));
  GRAPHTREE_RETURN_IF_ERROR(memory.SetAccess(range_, MemoryAccess::kReadWrite));
  GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(*device_, {}));
  const Layout* layout = Layout::Of(DType::kI32, {kElements});
  inputs_.push_back(Tensor::Foreign(range_.base, layout));
  tree_->Register("cut", {.static_inputs = {0}}, [this, layout](Launcher& on, Values& inputs) {
    const Tensor target = mutates_ ? Tensor::From(inputs[0]) : on.Empty(layout);
    return on.ok() ? Body(on, target) : Values();
  });
  return MakeBare();
}

absl::Status BreaksWorld::MakeBare() {
  const AddressRange out = {range_.base, kElements * 4};
  const uint32_t seed = 1;
  const bool on_cuda = device_->info().architecture != "host";
  for (uint32_t section = 0; section < kSections; ++section) {
    if (on_cuda) {
      const BareLaunch launch = {std::get<CudaSymbol>(FillPatternKernel().cuda()).symbol,
                                 kShape.grid, kShape.block, {&out.base, &seed, &kElements}};
      GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<BareGraph> bare,
                                 BareGraph::Capture(std::vector<BareLaunch>(kKernels, launch),
                                                    bare_.empty() ? nullptr : bare_[0].get()));
      bare_.push_back(std::move(bare));
      continue;
    }
    GRAPHTREE_RETURN_IF_ERROR(stream_->BeginCapture(CaptureMode::kThreadLocal));
    const std::vector<Argument> arguments = {Argument::Out(out), Argument::Value(seed),
                                             Argument::Value(kElements)};
    for (uint32_t i = 0; i < kKernels; ++i) {
      GRAPHTREE_RETURN_IF_ERROR(stream_->Launch(FillPatternKernel(), kShape, arguments));
    }
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, stream_->EndCapture());
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, graph->Instantiate());
    graphs_.push_back(std::move(graph));
    executables_.push_back(std::move(executable));
  }
  return absl::OkStatus();
}

Outcome Cut(const char* device, bool mutates) {
  auto world = BreaksWorld::Make(device, mutates);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  BreaksWorld& w = **world;
  for (int i = 0; i < 4; ++i) GRAPHTREE_RETURN_IF_ERROR(w.Step());
  bench::TimingOptions options;
  options.most_calls = 8;
  options.batches = 301;
  options.between = [&w] { w.Drain(); };
  absl::Status status;
  const Measurement pair = bench::ComparePair([&] { status.Update(w.Step()); },
                                              [&] { w.BareStep(); }, options);
  if (!status.ok()) return status;
  if (absl::Status bare = w.bare_status(); !bare.ok()) return bare;
  if (w.stats().sections != kSections || w.stats().eager > 0) {
    return absl::InternalError(absl::StrCat(w.stats().sections, " sections, ", w.stats().eager,
                                            " eager runs"));
  }
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    bench::RegisterRow({.name = absl::StrCat("tree.", device, ".breaks_48"),
                        .ours = "49 sections of 10 kernels, 48 empty breaks",
                        .against = "49 bare launches",
                        .goal = "difference <= 2 us"},
                       [device] { return Cut(device, false); });
    bench::RegisterRow({.name = absl::StrCat("tree.", device, ".breaks_48_saved"),
                        .ours = "the same, writing to 1 KiB of the caller's, which is saved first",
                        .against = "49 bare launches"},
                       [device] { return Cut(device, true); });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
