// The order in which work runs: queued, picked by the seed, the same for the same seed, and never
// in the way of a caller that does something else meanwhile.
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/error.h"
#include "device/host/host_device.h"
#include "device/host/host_test_device.h"

namespace graphtree::host {
namespace {

// Three streams of work with an event here and there; what ran, in order.
std::string TraceOf(uint64_t seed) {
  std::string trace;
  HostOptions options;
  options.seed = seed;
  options.trace = [&](const HostTraceEntry& entry) {
    absl::StrAppend(&trace, entry.stream, ":", entry.op, entry.sequence, ".", entry.op_id, " ");
  };
  TestDevice device(options);
  const auto graph = device.Capture(0, [&] {
    EXPECT_THAT(device.Digit(0, 9, 1), IsOk());
    EXPECT_THAT(device.stream(0).Record(device.event(0)), IsOk());
    EXPECT_THAT(device.stream(1).Wait(device.event(0)), IsOk());
    for (int i = 0; i < 4; ++i) {
      EXPECT_THAT(device.Digit(0, 10, 1), IsOk());
      EXPECT_THAT(device.Digit(1, 11, 1), IsOk());
    }
    EXPECT_THAT(device.stream(1).Record(device.event(1)), IsOk());
    EXPECT_THAT(device.stream(0).Wait(device.event(1)), IsOk());
  });
  const auto executable = graph->Instantiate().value();
  for (int i = 0; i < 5; ++i) {
    for (int stream = 0; stream < 3; ++stream) {
      EXPECT_THAT(device.Digit(stream, stream, 1), IsOk());
    }
    EXPECT_THAT(device.stream(0).Record(device.event(2)), IsOk());
    EXPECT_THAT(device.stream(2).Wait(device.event(2)), IsOk());
    EXPECT_THAT(executable->Launch(device.stream(1)), IsOk());
    EXPECT_THAT(device.stream(1).IsDone(), IsOk());
  }
  for (int stream = 0; stream < 3; ++stream) {
    EXPECT_THAT(device.stream(stream).Synchronize(), IsOk());
  }
  return trace;
}

TEST(SchedulerTest, TheSameSeedGivesTheSameTrace) {
  for (uint64_t seed = 1; seed <= 10; ++seed) EXPECT_EQ(TraceOf(seed), TraceOf(seed)) << seed;
}

TEST(SchedulerTest, SeedsDiffer) {
  std::set<std::string> traces;
  for (uint64_t seed = 1; seed <= 20; ++seed) traces.insert(TraceOf(seed));
  EXPECT_GE(traces.size(), 19u);
}

TEST(SchedulerTest, NothingRunsBeforeSomeoneWaits) {
  TestDevice device;
  ASSERT_THAT(device.Digit(0, 0, 7), IsOk());
  EXPECT_EQ(device.at(0), 0u);
  ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
  EXPECT_EQ(device.at(0), 7u);
}

TEST(SchedulerTest, ALongQueueRunsByItself) {
  HostOptions options;
  options.queue_limit = 8;
  TestDevice device(options);
  for (int i = 0; i < 9; ++i) ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
  EXPECT_EQ(device.at(0), 11111u) << "half of them stay";
}

TEST(SchedulerTest, WithoutAnEventBothOrdersComeAboutAndWithOneOnlyTheRightOne) {
  for (const bool with_event : {false, true}) {
    std::set<uint64_t> outcomes;
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      HostOptions options;
      options.seed = seed;
      options.check_races = false;
      TestDevice device(options);
      ASSERT_THAT(device.Digit(0, 0, 1), IsOk());
      if (with_event) {
        ASSERT_THAT(device.stream(0).Record(device.event(0)), IsOk());
        ASSERT_THAT(device.stream(1).Wait(device.event(0)), IsOk());
      }
      ASSERT_THAT(device.Digit(1, 0, 2), IsOk());
      ASSERT_THAT(device.stream(0).Synchronize(), IsOk());
      ASSERT_THAT(device.stream(1).Synchronize(), IsOk());
      outcomes.insert(device.at(0));
    }
    EXPECT_EQ(outcomes, with_event ? std::set<uint64_t>{12} : (std::set<uint64_t>{12, 21}));
  }
}

TEST(SchedulerTest, BranchesOfAReplayRunInEitherOrder) {
  std::set<uint64_t> outcomes;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    HostOptions options;
    options.seed = seed;
    options.check_races = false;
    TestDevice device(options);
    const auto graph = device.Capture(0, [&] {
      EXPECT_THAT(device.Digit(0, 0, 3), IsOk());
      EXPECT_THAT(device.stream(0).Record(device.event(0)), IsOk());
      EXPECT_THAT(device.stream(1).Wait(device.event(0)), IsOk());
      EXPECT_THAT(device.Digit(0, 0, 1), IsOk());
      EXPECT_THAT(device.Digit(1, 0, 2), IsOk());
      EXPECT_THAT(device.stream(1).Record(device.event(1)), IsOk());
      EXPECT_THAT(device.stream(0).Wait(device.event(1)), IsOk());
      EXPECT_THAT(device.Digit(0, 0, 4), IsOk());
    });
    const auto executable = graph->Instantiate().value();
    ASSERT_THAT(executable->Launch(device.stream(2)), IsOk());
    ASSERT_THAT(device.stream(2).Synchronize(), IsOk());
    outcomes.insert(device.at(0));
  }
  EXPECT_EQ(outcomes, (std::set<uint64_t>{3124, 3214}));
}

TEST(SchedulerTest, LaunchesOfOneExecutableNeverOverlap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    HostOptions options;
    options.seed = seed;
    TestDevice device(options);
    const auto graph = device.Capture(0, [&] {
      EXPECT_THAT(device.Digit(0, 0, 1), IsOk());
      EXPECT_THAT(device.Digit(0, 0, 2), IsOk());
    });
    const auto executable = graph->Instantiate().value();
    ASSERT_THAT(executable->Launch(device.stream(0)), IsOk());
    ASSERT_THAT(executable->Launch(device.stream(1)), IsOk());
    ASSERT_THAT(executable->Launch(device.stream(2)), IsOk());
    ASSERT_THAT(device.stream(2).Synchronize(), IsOk());
    EXPECT_EQ(device.at(0), 121212u) << "seed " << seed;
  }
}

TEST(SchedulerTest, AQueryDoesNotHangOnWorkThatWaitsForTheCaller) {
  for (const HostScheduler scheduler : {HostScheduler::kSeeded, HostScheduler::kThreads}) {
    HostOptions options;
    options.scheduler = scheduler;
    TestDevice device(options);
    static std::atomic<bool> go;
    go = false;
    const Kernel wait("wait", {}, [](const HostCall&) {
      while (!go) std::this_thread::yield();
    }, {});
    ASSERT_THAT(device.stream(0).Launch(wait, {}, {}), IsOk());
    ASSERT_THAT(device.stream(1).CallHost([] {
      while (!go) std::this_thread::yield();
    }), IsOk());
    EXPECT_FALSE(device.stream(0).IsDone().value());
    EXPECT_FALSE(device.stream(1).IsDone().value());
    go = true;
    EXPECT_THAT(device.stream(0).Synchronize(), IsOk());
    EXPECT_THAT(device.stream(1).Synchronize(), IsOk());
    EXPECT_TRUE(device.stream(0).IsDone().value());
  }
}

TEST(SchedulerTest, WhatAHostCallOwnsMayBeTheDevicesOwn) {
  TestDevice device;
  const auto capture_a_call = [&](int stream) {
    std::shared_ptr<Event> owned = device.device().NewEvent({}).value();
    EXPECT_THAT(device.stream(stream).BeginCapture(CaptureMode::kThreadLocal), IsOk());
    EXPECT_THAT(device.stream(stream).CallHost([owned] {}), IsOk());
  };
  capture_a_call(0);
  EXPECT_FALSE(device.stream(0).IsDone().ok());
  EXPECT_FALSE(device.stream(0).EndCapture().ok());
  std::shared_ptr<Event> owned = device.device().NewEvent({}).value();
  ASSERT_THAT(device.stream(1).CallHost([event = std::move(owned)] {}), IsOk());
  EXPECT_THAT(device.stream(1).Synchronize(), IsOk());
}

TEST(SchedulerTest, SeveralThreadsIssueAndWaitAtOnce) {
  for (const HostScheduler scheduler :
       {HostScheduler::kSeeded, HostScheduler::kImmediate, HostScheduler::kThreads}) {
    HostOptions options;
    options.scheduler = scheduler;
    TestDevice device(options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&device, t] {
        for (int round = 0; round < 50; ++round) {
          device.at(t) = 0;
          for (uint64_t digit = 1; digit <= 5; ++digit) {
            ASSERT_THAT(device.Digit(t, t, digit), IsOk());
          }
          ASSERT_THAT(device.stream(t).Synchronize(), IsOk());
          ASSERT_EQ(device.at(t), 12345u);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(HostSchedulerTest, ANumberThatIsNoneIsAnError) {
  HostOptions options;
  options.scheduler = static_cast<HostScheduler>(3);
  const absl::StatusOr<std::unique_ptr<Device>> device = OpenHostDevice(options);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(ErrorCodeOf(device.status()), ErrorCode::kInvalidValue);
  EXPECT_NE(device.status().message().find("scheduler 3, and there is none with that number"),
            std::string::npos)
      << device.status();
}

}  // namespace
}  // namespace graphtree::host
