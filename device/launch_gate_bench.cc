// What a gate costs whom it lets pass, alone and beside another thread that passes, too.
#include "device/launch_gate.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "tools/benching/google_benchmark.h"
#include "tools/benching/row.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

// A second thread that passes a place of its own for as long as this lives.
class Neighbour {
 public:
  Neighbour() : thread_([this] { Run(); }) {}
  ~Neighbour() {
    stop_.store(true);
    thread_.join();
  }

 private:
  void Run() {
    LaunchPlace place;
    while (!stop_.load(std::memory_order_relaxed)) const LaunchPass pass(place);
  }

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void PassALot(benchmark::State& state) {
  LaunchPlace place;
  uint64_t value = 1;
  for (auto _ : state) {
    const LaunchPass pass(place);
    value = value * 6364136223846793005u + 1;
    DoNotOptimize(value);
  }
}

void DoNotPass(benchmark::State& state) {
  uint64_t value = 1;
  for (auto _ : state) {
    value = value * 6364136223846793005u + 1;
    DoNotOptimize(value);
  }
}

GRAPHTREE_ROW(Pass, {.name = "device.launch_gate.pass",
                     .ours = "a step of a loop within a pass",
                     .against = "the same step without",
                     .goal = "difference <= 2 ns"}) {
  return CompareBenchmarks(PassALot, DoNotPass);
}

GRAPHTREE_ROW(PassBesideOthers, {.name = "device.launch_gate.pass_beside_another_thread",
                                 .ours = "a step of a loop within a pass",
                                 .against = "the same step with a shared lock"}) {
  const Neighbour neighbour;
  return CompareBenchmarks(PassALot, [](benchmark::State& state) {
    std::shared_mutex mutex;
    uint64_t value = 1;
    for (auto _ : state) {
      const std::shared_lock<std::shared_mutex> lock(mutex);
      value = value * 6364136223846793005u + 1;
      DoNotOptimize(value);
    }
  });
}

GRAPHTREE_ROW(PassWatched, {.name = "device.launch_gate.pass_while_watched",
                            .ours = "a pass that notes its thread"}) {
  LaunchGate::OfProcess().Watch(true);
  LaunchPlace place;
  const Measurement measured = Measure([&] { const LaunchPass pass(place); });
  LaunchGate::OfProcess().Watch(false);
  return measured;
}

GRAPHTREE_ROW(CloseAndOpen, {.name = "device.launch_gate.close_and_open",
                             .ours = "closing beside a thread that passes"}) {
  const Neighbour neighbour;
  return Measure([&] { (void)LaunchGate::OfProcess().Close(); });
}

}  // namespace
}  // namespace graphtree::bench
