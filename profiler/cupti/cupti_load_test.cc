// Attaching and detaching while three threads replay: no op is told twice or of a wrong launch, and
// of every launch that was begun and ended between, all ops are told.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/graph.h"
#include "device/host/host_options.h"
#include "device/launch_gate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/cupti_session.h"
#include "profiler/cupti/host_cupti.h"
#include "profiler/cupti/session_test_device.h"
#include "profiler/cupti/test_listener.h"

namespace graphtree::cupti {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 25;

// What one thread knows of its launches: correlation and executable, once their work is done.
struct Finished {
  uint64_t correlation;
  uint32_t graph;
};

class CuptiLoadTest : public testing::TestWithParam<HostScheduler> {
 protected:
  void Replay(int number) {
    Stream& stream = *streams_[number];
    std::unique_ptr<Executable> executable = std::move(graphs_[number]->Instantiate()).value();
    for (int i = 0; !stops_.load(std::memory_order_relaxed); ++i) {
      EXPECT_THAT(executable->Launch(stream), IsOk());
      const uint64_t correlation = session_.CorrelationOf(*executable);
      const uint32_t graph = session_.IdOf(*executable);
      EXPECT_THAT(stream.Synchronize(), IsOk());
      if (correlation != 0) {
        const std::lock_guard<std::mutex> lock(mutex_);
        finished_.push_back({correlation, graph});
      }
      launches_.fetch_add(1, std::memory_order_relaxed);
      if (i % 16 == 15) executable = std::move(graphs_[number]->Instantiate()).value();
    }
  }
  void AwaitLaunches(uint64_t more) {
    const uint64_t wanted = launches_.load() + more;
    while (launches_.load() < wanted) std::this_thread::yield();
  }
  std::vector<Finished> TakeFinished() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(finished_, {});
  }
  void CheckRound(const TestListener& listener, const std::vector<Finished>& finished) {
    EXPECT_EQ(listener.dropped, 0u);
    std::map<uint64_t, std::set<uint64_t>> nodes;  // by correlation
    for (const KeptOp& kept : listener.ops) {
      EXPECT_NE(kept.op.graph, 0u);
      EXPECT_EQ(kept.op.graph_node >> 32, kept.op.graph);
      if (kept.op.correlation == 0) continue;  // launched before
      EXPECT_TRUE(nodes[kept.op.correlation].insert(kept.op.graph_node).second)
          << "an op of launch " << kept.op.correlation << " was told twice";
    }
    for (const Finished& launch : finished) {
      const std::set<uint64_t>& told = nodes[launch.correlation];
      EXPECT_EQ(told.size(), size_t{kOps}) << "launch " << launch.correlation;
      // Null if the session had left before the id was asked.
      if (told.empty() || launch.graph == 0) continue;
      EXPECT_EQ(*told.begin() >> 32, launch.graph);
      EXPECT_EQ(*told.rbegin() >> 32, launch.graph);
    }
  }

  static constexpr int kOps = 4;  // that have records, of a graph of the test's

  SessionTestDevice test_{GetParam()};
  CuptiSession session_{std::make_unique<HostCupti>(std::vector<Device*>{&test_.device()}), {}};
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::atomic<bool> stops_{false};
  std::atomic<uint64_t> launches_{0};
  std::mutex mutex_;
  std::vector<Finished> finished_;  // guarded by mutex_
};

TEST_P(CuptiLoadTest, ComesAndGoesWhileThreadsReplay) {
  for (int i = 0; i < kThreads; ++i) {
    streams_.push_back(test_.NewStream());
    graphs_.push_back(test_.NewGraph());
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { Replay(i); });
  AwaitLaunches(3);
  size_t compared = 0;
  for (int round = 0; round < kRounds; ++round) {
    TestListener listener;
    ASSERT_THAT(session_.Attach(&listener, {}), IsOk());
    AwaitLaunches(2);
    TakeFinished();
    AwaitLaunches(6);
    if (round % 5 == 0) {
      EXPECT_THAT(session_.Flush(), IsOk());
    }
    const std::vector<Finished> finished = TakeFinished();
    ASSERT_THAT(session_.Detach({}), IsOk());
    CheckRound(listener, finished);
    compared += finished.size();
    AwaitLaunches(1);
  }
  stops_.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(compared, size_t{kRounds});
  EXPECT_GT(LaunchGate::OfProcess().waits() + 1, 0u);
}

INSTANTIATE_TEST_SUITE_P(Schedulers, CuptiLoadTest,
                         testing::Values(HostScheduler::kSeeded, HostScheduler::kThreads));

}  // namespace
}  // namespace graphtree::cupti
