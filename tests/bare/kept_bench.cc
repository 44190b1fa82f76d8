// What a kept output costs a replay: the outputs of the last step are held while the next one runs,
// so that each replay puts them at another place: beside a launch of the same ops that does not,
// and beside one whose ops are patched by bare calls, which is the least that a new place costs.
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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
constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};

class KeptWorld {
 public:
  static absl::StatusOr<std::unique_ptr<KeptWorld>> Make(const char* device, uint32_t outputs) {
    std::unique_ptr<KeptWorld> world(new KeptWorld(outputs));
    GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
    return world;
  }
  ~KeptWorld() {
    held_[0].clear();
    held_[1].clear();
    if (on_.is_open()) Drain();
  }

  absl::Status Step() {
    tree_->BeginStep();
    return tree_->Run(0, {}, on_.stream(), &held_[turn_++ % 2]);
  }
  void BareStep() {
    if (bare_ != nullptr) {
      bare_->Launch();
    } else {
      host_.executable->Launch(on_.stream()).IgnoreError();
    }
  }
  // Each op is patched to the other of two places first.
  void BarePatchedStep() {
    place_ ^= 1;
    for (uint32_t i = 0; i < outputs_; ++i) {
      if (bare_ != nullptr) {
        bare_->Patch(i, launches_[place_]);
      } else {
        host_.executable->PatchKernel(i, FillPatternKernel(), kShape, arguments_[place_])
            .IgnoreError();
      }
    }
    BareStep();
  }
  void Drain() {
    on_.stream().Synchronize().IgnoreError();
    if (bare_ != nullptr) bare_->Synchronize().IgnoreError();
  }
  absl::Status bare_status() {
    return bare_ != nullptr ? bare_->Synchronize() : absl::OkStatus();
  }
  TreeStats stats() { return tree_->stats(); }

 private:
  explicit KeptWorld(uint32_t outputs) : outputs_(outputs) {}
  absl::Status SetUp(const char* device);
  absl::Status MakeBare();

  const uint32_t outputs_;
  BenchDevice on_;
  Values held_[2];
  uint32_t turn_ = 0;
  uint32_t place_ = 0;
  Address places_[2] = {};
  std::vector<BareLaunch> launches_;             // of an op at each place
  std::vector<std::vector<Argument>> arguments_;  // likewise
  HostGraph host_;  // on the host, whose own calls are the bare ones
  std::unique_ptr<BareGraph> bare_;  // on CUDA
  std::unique_ptr<Tree> tree_;
};

absl::Status KeptWorld::SetUp(const char* device) {
  GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, 2 * kElements * 4));
  TreeOptions options;
  options.pool_bytes = uint64_t{1} << 30;
  GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(on_.device(), options));
  FunctionOptions keeping;
  for (uint32_t i = 0; i < outputs_; ++i) keeping.kept_outputs.push_back(i);
  tree_->Register("kept", keeping, [this](Launcher& on, Values&) {
    Values made;
    for (uint32_t i = 0; i < outputs_; ++i) {
      Tensor out = on.Empty(DType::kI32, {kElements});
      if (!on.ok()) return Values();
      on.Launch(FillPatternKernel(), kShape, {Out(out), Val(i), Val(kElements)});
      made.push_back(std::move(out));
    }
    return made;
  });
  return MakeBare();
}

absl::Status KeptWorld::MakeBare() {
  static const uint32_t kSeed = 1;
  for (uint32_t i = 0; i < 2; ++i) {
    places_[i] = on_.memory().base + i * kElements * 4;
    arguments_.push_back({Argument::Out({places_[i], kElements * 4}), Argument::Value(kSeed),
                          Argument::Value(kElements)});
    if (on_.is_host()) continue;
    launches_.push_back({std::get<CudaSymbol>(FillPatternKernel().cuda()).symbol, kShape.grid,
                         kShape.block, {&places_[i], &kSeed, &kElements}});
  }
  if (!launches_.empty()) {
    GRAPHTREE_ASSIGN_OR_RETURN(
        bare_, BareGraph::Capture(std::vector<BareLaunch>(outputs_, launches_[0])));
    return absl::OkStatus();
  }
  GRAPHTREE_ASSIGN_OR_RETURN(host_, on_.Capture([this] {
    for (uint32_t i = 0; i < outputs_; ++i) {
      GRAPHTREE_RETURN_IF_ERROR(on_.stream().Launch(FillPatternKernel(), kShape, arguments_[0]));
    }
    return absl::OkStatus();
  }));
  return absl::OkStatus();
}

Outcome Kept(const char* device, uint32_t outputs, bool patches_bare) {
  auto world = KeptWorld::Make(device, outputs);
  if (!world.ok()) return Skipped(std::string(world.status().message()));
  KeptWorld& w = **world;
  for (int i = 0; i < 4; ++i) GRAPHTREE_RETURN_IF_ERROR(w.Step());
  bench::TimingOptions options;
  options.most_calls = 48;
  options.batches = 301;
  options.between = [&w] { w.Drain(); };
  absl::Status status;
  const Measurement pair = bench::ComparePair([&] { status.Update(w.Step()); },
                                              [&] {
                                                patches_bare ? w.BarePatchedStep() : w.BareStep();
                                              },
                                              options);
  if (!status.ok()) return status;
  if (absl::Status bare = w.bare_status(); !bare.ok()) return bare;
  if (w.stats().recordings != 1) return absl::InternalError("recorded more than once");
  return pair;
}

// On a GPU. Beside the host device's launch of a few ns, which tells it nothing of live bytes, any
// memory that is taken and given back is dear; its rows show a regression by their drift.
std::string GoalOn(absl::string_view device, uint32_t outputs) {
  return device == "host" ? "" : absl::StrCat("difference <= ", 400 * outputs, " ns");
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    for (const uint32_t outputs : {1, 8, 64}) {
      bench::RegisterRow({.name = absl::StrCat("tree.", device, ".kept_", outputs),
                          .ours = absl::StrCat("replay, ", outputs, " outputs kept"),
                          .against = "a bare launch that keeps none",
                          .goal = GoalOn(device, outputs)},
                         [device, outputs] { return Kept(device, outputs, false); });
      bench::RegisterRow({.name = absl::StrCat("tree.", device, ".kept_", outputs, "_patched"),
                          .ours = absl::StrCat("replay, ", outputs, " outputs kept"),
                          .against = "a bare patch of each op and a launch",
                          .goal = GoalOn(device, outputs)},
                         [device, outputs] { return Kept(device, outputs, true); });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
