// A thousand recordings of one call that differ in what was alive when each was made: the last of
// them is found as fast as the first.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/budget.h"
#include "graphs/launcher.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/bare/bench_device.h"
#include "tests/kernels/kernels.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Median;
using bench::NowNs;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

constexpr uint32_t kElements = 256;
constexpr uint32_t kHeld = 10;  // outputs of the first function: each set of them is a recording
constexpr uint32_t kSets = 1000;
constexpr LaunchShape kShape = {.grid = {1}, .block = {256}};

class LivenessWorld {
 public:
  static absl::StatusOr<std::unique_ptr<LivenessWorld>> Make(const char* device) {
    std::unique_ptr<LivenessWorld> world(new LivenessWorld());
    GRAPHTREE_RETURN_IF_ERROR(world->SetUp(device));
    return world;
  }
  ~LivenessWorld() {
    held_.clear();
    outputs_.clear();
    if (on_.is_open()) Drain();
    tree_ = nullptr;
  }

  // A step in which the outputs of `set`, a bit for each, are alive when the second function is
  // called; the time of that call.
  absl::StatusOr<double> TimedCall(uint32_t set) {
    tree_->BeginStep();
    GRAPHTREE_RETURN_IF_ERROR(tree_->Run(make_, {}, on_.stream(), &held_));
    for (uint32_t i = 0; i < kHeld; ++i) {
      if ((set >> i & 1) == 0) held_[i] = Value();
    }
    Drain();
    const double start = NowNs();
    GRAPHTREE_RETURN_IF_ERROR(tree_->Run(use_, {}, on_.stream(), &outputs_));
    return NowNs() - start;
  }
  uint64_t recordings() { return tree_->stats().recordings; }

 private:
  LivenessWorld() = default;

  absl::Status SetUp(const char* device) {
    GRAPHTREE_RETURN_IF_ERROR(on_.Open(device, 1));
    TreeOptions options;
    options.pool_bytes = uint64_t{1} << 30;
    options.rerecord_limit = options.budget.siblings = 2 * kSets;
    GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(on_.device(), options));
    const auto filled = [](Launcher& on, uint32_t count) {
      Values made;
      for (uint32_t i = 0; i < count; ++i) {
        const Tensor out = on.Empty(DType::kI32, {kElements});
        on.Launch(IncrementKernel(), kShape, {InOut(out), Val(i), Val(kElements)});
        made.push_back(out);
      }
      return made;
    };
    make_ = tree_->Register("make", {}, [filled](Launcher& on, Values&) {
      return filled(on, kHeld);
    });
    use_ = tree_->Register("use", {}, [filled](Launcher& on, Values&) { return filled(on, 1); });
    return absl::OkStatus();
  }
  void Drain() { on_.stream().Synchronize().IgnoreError(); }

  BenchDevice on_;
  std::unique_ptr<Tree> tree_;
  FunctionId make_ = 0;
  FunctionId use_ = 0;
  Values held_;
  Values outputs_;
};

// A recording serves whatever is less than what it was made around; counting upwards, no set is
// less than one before it, so that each is a recording of its own.
Outcome Liveness(const char* device) {
  const uint32_t sets = bench::Smoke() ? 20 : kSets;
  absl::StatusOr<std::unique_ptr<LivenessWorld>> made = LivenessWorld::Make(device);
  if (!made.ok()) return Skipped(std::string(made.status().message()));
  LivenessWorld& world = **made;
  for (int round = 0; round < 3; ++round) GRAPHTREE_RETURN_IF_ERROR(world.TimedCall(0).status());
  for (uint32_t set = 1; set < sets; ++set) {
    GRAPHTREE_RETURN_IF_ERROR(world.TimedCall(set).status());
  }
  if (world.recordings() != sets + 1) {
    return absl::InternalError(absl::StrCat(world.recordings(), " recordings instead of ",
                                            sets + 1));
  }
  std::vector<double> first, last;
  for (uint32_t round = 0; round < (bench::Smoke() ? 3u : 301u); ++round) {
    GRAPHTREE_ASSIGN_OR_RETURN(const double early, world.TimedCall(round % 2));
    GRAPHTREE_ASSIGN_OR_RETURN(const double late, world.TimedCall(sets - 1 - round % 2));
    first.push_back(early);
    last.push_back(late);
  }
  return Measurement{.ours = Median(last), .baseline = Median(first)};
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    RegisterRow({.name = absl::StrCat("tree.", device, ".replay.alive_1000"),
                 .ours = "the last two of 1,000 recordings around other live outputs, in turn",
                 .against = "the first two",
                 .goal = "ratio <= 1.15"},
                [device] { return Liveness(device); });
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
