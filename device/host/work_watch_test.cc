// What a watcher is told, and that launches of host executables pass the gate of the process.
#include "device/host/work_watch.h"

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/graph.h"
#include "device/host/host_options.h"
#include "device/host/host_test_device.h"
#include "device/host/native.h"
#include "device/kernel.h"
#include "device/launch_gate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

struct Told {
  HostWorkDone work;
  std::string name;
};

class Notebook : public HostWorkWatcher {
 public:
  uint64_t Launching(const void* executable) override {
    launching.push_back(executable);
    return ++launches;
  }
  void Launched(const void* executable) override { launched.push_back(executable); }
  void Done(const HostWorkDone& work) override { done.push_back({work, std::string(work.name)}); }

  uint64_t launches = 100;
  std::vector<const void*> launching, launched;
  std::vector<Told> done;
};

class WorkWatchTest : public testing::TestWithParam<HostScheduler> {
 protected:
  TestDevice test_{HostOptions{.scheduler = GetParam(), .seed = 3}};
  Notebook notebook_;
};

TEST_P(WorkWatchTest, TellsOfEachOpOfALaunch) {
  std::unique_ptr<Graph> graph = test_.Capture(0, [&] {
    ASSERT_THAT(test_.Digit(0, 0, 1), IsOk());
    ASSERT_THAT(test_.stream(0).Copy(test_.word(4).base, test_.word(0).base, 8), IsOk());
    ASSERT_THAT(test_.stream(0).Fill(test_.word(5).base, 9, 4, 2), IsOk());
  });
  std::unique_ptr<Executable> executable = std::move(graph->Instantiate()).value();
  ASSERT_THAT(WatchHostWork(test_.device(), &notebook_), IsOk());
  for (int i = 0; i < 2; ++i) ASSERT_THAT(executable->Launch(test_.stream(1)), IsOk());
  ASSERT_THAT(test_.stream(1).Synchronize(), IsOk());
  ASSERT_THAT(WatchHostWork(test_.device(), nullptr), IsOk());
  ASSERT_THAT(executable->Launch(test_.stream(1)), IsOk());
  ASSERT_THAT(test_.stream(1).Synchronize(), IsOk());

  const void* const handle = executable->launch_place()->executable();
  EXPECT_THAT(notebook_.launching, testing::ElementsAre(handle, handle));
  EXPECT_EQ(notebook_.launched, notebook_.launching);
  ASSERT_EQ(notebook_.done.size(), 6u);
  int64_t last_end = 0;
  for (size_t i = 0; i < notebook_.done.size(); ++i) {
    const HostWorkDone& work = notebook_.done[i].work;
    EXPECT_EQ(work.launch, 101 + i / 3);
    EXPECT_EQ(work.executable, handle);
    EXPECT_EQ(work.op, i % 3);
    EXPECT_EQ(work.kind, graph->ops()[i % 3].kind);
    EXPECT_EQ(notebook_.done[i].name, graph->ops()[i % 3].name);
    EXPECT_GE(work.start_ns, last_end);
    EXPECT_GE(work.end_ns, work.start_ns);
    last_end = work.end_ns;
  }
  EXPECT_EQ(notebook_.done[1].work.bytes, 8u);
  EXPECT_EQ(notebook_.done[2].work.bytes, 8u);
  EXPECT_EQ(notebook_.done[2].work.fill_value, 9u);
}

TEST_P(WorkWatchTest, TellsOfOpsThatAreLaunchedAlone) {
  ASSERT_THAT(WatchHostWork(test_.device(), &notebook_), IsOk());
  ASSERT_THAT(test_.Digit(0, 0, 1), IsOk());
  ASSERT_THAT(test_.stream(0).Synchronize(), IsOk());
  std::unique_ptr<HostNativeStream> theirs =
      std::move(NewHostNativeStream(test_.device())).value();
  ASSERT_THAT(theirs->Push("gemm", [] {}), IsOk());
  ASSERT_THAT(theirs->Synchronize(), IsOk());
  ASSERT_THAT(WatchHostWork(test_.device(), nullptr), IsOk());
  ASSERT_EQ(notebook_.done.size(), 2u);
  EXPECT_EQ(notebook_.done[0].name, "digit");
  EXPECT_EQ(notebook_.done[1].name, "gemm");
  for (const Told& told : notebook_.done) {
    EXPECT_EQ(told.work.launch, 0u);
    EXPECT_EQ(told.work.executable, nullptr);
  }
}

TEST_P(WorkWatchTest, OneWatches) {
  Notebook other;
  ASSERT_THAT(WatchHostWork(test_.device(), &notebook_), IsOk());
  EXPECT_FALSE(WatchHostWork(test_.device(), &other).ok());
  ASSERT_THAT(WatchHostWork(test_.device(), nullptr), IsOk());
  EXPECT_THAT(WatchHostWork(test_.device(), &other), IsOk());
  EXPECT_THAT(WatchHostWork(test_.device(), nullptr), IsOk());
}

TEST_P(WorkWatchTest, LaunchingAndInstantiatingPassTheGate) {
  std::unique_ptr<Graph> graph = test_.Capture(0, [&] {
    ASSERT_THAT(test_.Digit(0, 0, 1), IsOk());
  });
  std::unique_ptr<Executable> executable = std::move(graph->Instantiate()).value();
  LaunchGate& gate = LaunchGate::OfProcess();
  const uint64_t waits_before = gate.waits();
  LaunchGate::Closed closed = std::move(gate.Close()).value();
  std::thread launcher([&] { EXPECT_THAT(executable->Launch(test_.stream(0)), IsOk()); });
  std::thread maker([&] { EXPECT_THAT(graph->Instantiate(), IsOk()); });
  while (gate.waits() < waits_before + 2) std::this_thread::yield();
  EXPECT_THAT(executable->Upload(test_.stream(1)), IsOk());  // nothing to do on the host
  closed.Open();
  launcher.join();
  maker.join();
  ASSERT_THAT(test_.stream(0).Synchronize(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Schedulers, WorkWatchTest,
                         testing::Values(HostScheduler::kSeeded, HostScheduler::kImmediate,
                                         HostScheduler::kThreads));

}  // namespace
}  // namespace graphtree::host
