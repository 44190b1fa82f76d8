// The real CUPTI comes and goes while three threads replay graphs on the GPU.
//
// As often as GRAPHTREE_CUPTI_ROUNDS says, or a hundred times.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "device/base/status_matchers.h"
#include "device/graph.h"
#include "device/stream.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/cupti_gpu_fixture.h"
#include "profiler/cupti/launch_ledger.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

constexpr int kThreads = 3;
constexpr int kOps = 20;

int Rounds() {
  const char* const asked = std::getenv("GRAPHTREE_CUPTI_ROUNDS");
  int rounds = 0;
  return asked != nullptr && absl::SimpleAtoi(asked, &rounds) ? rounds : 100;
}

double Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}

class CuptiLoadGpuTest : public CuptiGpuTest {
 protected:
  void Replay(Stream& stream, Executable& executable) {
    while (!stops_.load(std::memory_order_relaxed)) {
      const uint64_t phase = ledger_.phase();
      ASSERT_THAT(executable.Launch(stream), IsOk());
      const uint64_t correlation = source_->CorrelationOf(executable);
      const uint32_t id = source_->IdOf(executable);
      for (int more = 0; more < 3; ++more) ASSERT_THAT(executable.Launch(stream), IsOk());
      ASSERT_THAT(stream.Synchronize(), IsOk());
      ledger_.Note(phase, {correlation, id});
    }
  }
  // Of the attaching and the detaching.
  std::pair<double, double> Round(size_t* compared) {
    TestListener listener;
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_THAT(source_->Attach(&listener, {}), IsOk());
    const double attaching = Milliseconds(begun);
    ledger_.Listening(true);
    ledger_.Await(3 * kThreads);
    const std::vector<FinishedLaunch> finished = ledger_.Take();
    ledger_.Listening(false);
    const auto ending = std::chrono::steady_clock::now();
    EXPECT_THAT(source_->Detach({}), IsOk());
    const double detaching = Milliseconds(ending);
    ExpectAllTold(listener, finished, kOps);
    *compared += finished.size();
    return {attaching, detaching};
  }

  std::atomic<bool> stops_{false};
  LaunchLedger ledger_;
};

TEST_F(CuptiLoadGpuTest, ComesAndGoesWhileThreadsReplay) {
  std::unique_ptr<Graph> mine = CaptureKernels(*stream_, kOps, 100);
  std::unique_ptr<Executable> measured = std::move(mine->Instantiate()).value();
  LaunchCost(*measured);
  const double before = LaunchCost(*measured);
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::unique_ptr<Executable>> executables;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    streams.push_back(std::move(device_->NewStream()).value());
    graphs.push_back(CaptureKernels(*streams[i], kOps, i));
    executables.push_back(std::move(graphs[i]->Instantiate()).value());
  }
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { Replay(*streams[i], *executables[i]); });
  }
  ledger_.Await(kThreads);
  size_t compared = 0;
  double slowest_attach = 0, slowest_detach = 0;
  const int rounds = Rounds();
  int went = 0;
  for (; went < rounds && !HasFailure(); ++went) {
    const auto [attaching, detaching] = Round(&compared);
    slowest_attach = std::max(slowest_attach, attaching);
    slowest_detach = std::max(slowest_detach, detaching);
  }
  stops_.store(true);
  for (std::thread& thread : threads) thread.join();
  const double after = LaunchCost(*measured);
  std::printf("%d rounds of %d beside %d threads, %zu launches compared; attaching took at most "
              "%.1f ms, detaching %.1f ms; a launch %.0f ns before, %.0f after: ratio %.3f\n",
              went, rounds, kThreads, compared, slowest_attach, slowest_detach, before, after,
              after / before);
  EXPECT_EQ(went, rounds);
  EXPECT_THAT(device_->health(), IsOk());
}

}  // namespace
}  // namespace graphtree::cupti
