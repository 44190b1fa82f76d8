// Attaching and detaching while three threads replay: no op is told twice or of a wrong launch, and
// of every launch that was begun and ended between, all ops are told.
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/host/host_options.h"
#include "device/stream.h"
#include "gtest/gtest.h"
#include "profiler/cupti/cupti_session.h"
#include "profiler/cupti/host_cupti.h"
#include "profiler/cupti/launch_ledger.h"
#include "profiler/cupti/session_test_device.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 25;
constexpr size_t kOps = 4;  // of a graph of the test's, that have records

class CuptiLoadTest : public testing::TestWithParam<HostScheduler> {
 protected:
  void Replay(Stream& stream, const Graph& graph) {
    std::unique_ptr<Executable> executable = std::move(graph.Instantiate()).value();
    for (int i = 0; !stops_.load(std::memory_order_relaxed); ++i) {
      const uint64_t phase = ledger_.phase();
      EXPECT_THAT(executable->Launch(stream), IsOk());
      const uint64_t correlation = session_.CorrelationOf(*executable);
      const uint32_t id = session_.IdOf(*executable);
      EXPECT_THAT(stream.Synchronize(), IsOk());
      ledger_.Note(phase, {correlation, id});
      if (i % 16 == 15) executable = std::move(graph.Instantiate()).value();
    }
  }

  SessionTestDevice test_{GetParam()};
  CuptiSession session_{std::make_unique<HostCupti>(std::vector<Device*>{&test_.device()}), {}};
  LaunchLedger ledger_;
  std::atomic<bool> stops_{false};
};

TEST_P(CuptiLoadTest, ComesAndGoesWhileThreadsReplay) {
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    streams.push_back(test_.NewStream());
    graphs.push_back(test_.NewGraph());
  }
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { Replay(*streams[i], *graphs[i]); });
  }
  ledger_.Await(3);
  size_t compared = 0;
  for (int round = 0; round < kRounds; ++round) {
    TestListener listener;
    ASSERT_THAT(session_.Attach(&listener, {}), IsOk());
    ledger_.Listening(true);
    ledger_.Await(8);
    if (round % 5 == 0) {
      EXPECT_THAT(session_.Flush(), IsOk());
    }
    const std::vector<FinishedLaunch> finished = ledger_.Take();
    ledger_.Listening(false);
    ASSERT_THAT(session_.Detach({}), IsOk());
    ExpectAllTold(listener, finished, kOps);
    compared += finished.size();
    ledger_.Await(1);
  }
  stops_.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(compared, size_t{kRounds});
}

INSTANTIATE_TEST_SUITE_P(Schedulers, CuptiLoadTest,
                         testing::Values(HostScheduler::kSeeded, HostScheduler::kThreads));

}  // namespace
}  // namespace graphtree::cupti
