// What cuts cost a replay: a function of 49 sections with nothing between them, beside bare
// launches of as many graphs; and what saving costs that a failure could ask for.
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
    if (on_.is_open()) Drain();
    tree_ = nullptr;
    while (!bare_.empty()) bare_.pop_back();  // the first one lends its stream
  }

  absl::Status Step() {
    tree_->BeginStep();
    return tree_->Run(0, absl::MakeSpan(inputs_), on_.stream(), &outputs_);
  }
  void BareStep() {
    for (const std::unique_ptr<BareGraph>& bare : bare_) bare->Launch();
    for (const HostGraph& host : host_) host.executable->Launch(on_.stream()).IgnoreError();
  }
  void Drain() {
    on_.stream().Synchronize().IgnoreError();
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
  BenchDevice on_;
  std::unique_ptr<Tree> tree_;
  Values inputs_;
  Values outputs_;
  std::vector<std::unique_ptr<BareGraph>> bare_;  // on CUDA
  std::vector<HostGraph> host_;  // on the host, whose own calls are the bare ones
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
  GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, kElements * 4));
  GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(on_.device(), {}));
  const Layout* layout = Layout::Of(DType::kI32, {kElements});
  inputs_.push_back(Tensor::Foreign(on_.memory().base, layout));
  tree_->Register("cut", {.static_inputs = {0}}, [this, layout](Launcher& on, Values& inputs) {
    const Tensor target = mutates_ ? Tensor::From(inputs[0]) : on.Empty(layout);
    return on.ok() ? Body(on, target) : Values();
  });
  return MakeBare();
}

absl::Status BreaksWorld::MakeBare() {
  const AddressRange out = {on_.memory().base, kElements * 4};
  const uint32_t seed = 1;
  for (uint32_t section = 0; section < kSections; ++section) {
    if (!on_.is_host()) {
      const BareLaunch launch = {std::get<CudaSymbol>(FillPatternKernel().cuda()).symbol,
                                 kShape.grid, kShape.block, {&out.base, &seed, &kElements}};
      GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<BareGraph> bare,
                                 BareGraph::Capture(std::vector<BareLaunch>(kKernels, launch),
                                                    bare_.empty() ? nullptr : bare_[0].get()));
      bare_.push_back(std::move(bare));
      continue;
    }
    const std::vector<Argument> arguments = {Argument::Out(out), Argument::Value(seed),
                                             Argument::Value(kElements)};
    GRAPHTREE_ASSIGN_OR_RETURN(HostGraph host, on_.Capture([this, &arguments] {
      for (uint32_t i = 0; i < kKernels; ++i) {
        GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(FillPatternKernel(), kShape, arguments));
      }
      return absl::OkStatus();
    }));
    host_.push_back(std::move(host));
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
