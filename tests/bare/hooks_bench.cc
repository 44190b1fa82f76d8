// What it costs a replay that somebody watches it, or that nobody does.
//
// Two trees make the same replays; one of them is watched. The row without an observer has the
// question alone that a replay asks before its launch, beside an empty loop.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/observer.h"
#include "tests/bare/tree_bench_world.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::ComparePair;
using bench::Measurement;
using bench::Outcome;
using bench::RegisterRow;
using bench::Skipped;

// As little as an observer can do.
class Counter : public Observer {
 public:
  explicit Counter(uint64_t replay_in) : replay_in_(replay_in) {}
  Wishes wishes() const override { return {.replay_in = replay_in_}; }
  void Saw(const GraphEvent& event) override { sum_ += event.launch; }
  uint64_t sum() const { return sum_; }

 private:
  const uint64_t replay_in_;
  uint64_t sum_ = 0;
};

struct Plan {
  const char* name;
  const char* ours;
  int observers;
  uint64_t replay_in;
  const char* goal;
};

const Plan kPlans[] = {
    {"one", "replay, one observer", 1, 1, "difference <= 60 ns"},
    {"four", "replay, four observers", 4, 1, "difference <= 120 ns"},
    {"one_in_100", "replay, an observer of one in 100", 1, 100, "difference <= 20 ns"},
};

absl::StatusOr<std::unique_ptr<BenchWorld>> WarmWorld(const char* device) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<BenchWorld> world,
                             BenchWorld::Make(device, {.statics = 1, .kernels = 1}));
  GRAPHTREE_RETURN_IF_ERROR(world->WarmUp());
  return world;
}

Outcome Watched(const char* device, const Plan& plan) {
  const absl::StatusOr<std::unique_ptr<BenchWorld>> watched = WarmWorld(device);
  if (!watched.ok()) return Skipped(std::string(watched.status().message()));
  const absl::StatusOr<std::unique_ptr<BenchWorld>> alone = WarmWorld(device);
  if (!alone.ok()) return Skipped(std::string(alone.status().message()));
  BenchWorld& w = **watched;
  BenchWorld& other = **alone;
  std::vector<std::unique_ptr<Counter>> counters;
  for (int i = 0; i < plan.observers; ++i) {
    counters.push_back(std::make_unique<Counter>(plan.replay_in));
    w.observers().Join(counters.back().get());
  }
  absl::Status status;
  bench::TimingOptions options;
  options.most_calls = 48;
  options.batches = 301;
  options.between = [&] {
    w.Drain();
    other.Drain();
  };
  const Measurement pair = ComparePair([&] { status.Update(w.Step()); },
                                       [&] { status.Update(other.Step()); }, options);
  for (const std::unique_ptr<Counter>& counter : counters) w.observers().Leave(counter.get());
  if (!status.ok()) return status;
  if (counters[0]->sum() == 0) return absl::InternalError("nothing was told");
  return pair;
}

GRAPHTREE_ROW(NobodyListens, {.name = "hooks.replay.nobody",
                              .ours = "the question whether anybody watches",
                              .against = "an empty loop",
                              .goal = "difference <= 20 ns"}) {
  Observers observers;
  uint64_t watched = 0;
  const Measurement pair = ComparePair(
      [&] {
        bench::ClobberMemory();
        if (observers.wants_replays()) ++watched;
      },
      [] { bench::ClobberMemory(); });
  bench::DoNotOptimize(watched);
  return pair;
}

bool RegisterAll() {
  for (const char* device : {"host", "cuda"}) {
    for (const Plan& plan : kPlans) {
      RegisterRow({.name = absl::StrCat("hooks.", device, ".replay.", plan.name),
                   .ours = plan.ours,
                   .against = "the same replay, unwatched",
                   .goal = plan.goal},
                  [device, &plan] { return Watched(device, plan); });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
