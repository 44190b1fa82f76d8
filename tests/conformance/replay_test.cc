// Replays: the bytes of eager work, as often as wanted, in the order of the streams around them.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class ReplayTest : public ConformanceTest {};
GRAPHTREE_ON_EVERY_DEVICE(ReplayTest);

// A program of random ops over four ranges and two streams, the same for the same seed.
class RandomProgram {
 public:
  RandomProgram(uint32_t seed, std::vector<AddressRange> ranges, Event& fork, Event& join)
      : seed_(seed), ranges_(std::move(ranges)), fork_(fork), join_(join) {}

  void RunOn(Stream& main, Stream& side) const {
    std::mt19937 random(seed_);
    for (int section = 0; section < 4; ++section) {
      EXPECT_THAT(main.Record(fork_), IsOk());
      EXPECT_THAT(side.Wait(fork_), IsOk());
      for (int i = 0; i < 6; ++i) {
        RunOne(main, random, ranges_[0], ranges_[1]);
        RunOne(side, random, ranges_[2], ranges_[3]);
      }
      EXPECT_THAT(side.Record(join_), IsOk());
      EXPECT_THAT(main.Wait(join_), IsOk());
      EXPECT_THAT(Add(main, ranges_[0], ranges_[0], ranges_[2]), IsOk());
    }
  }

 private:
  static void RunOne(Stream& on, std::mt19937& random, AddressRange x, AddressRange y) {
    if (random() % 2 == 0) std::swap(x, y);
    const uint32_t value = random();
    switch (random() % 5) {
      case 0:
        EXPECT_THAT(Increment(on, x, value), IsOk());
        break;
      case 1:
        EXPECT_THAT(on.Copy(x.base, y.base, x.bytes / 2), IsOk());
        break;
      case 2:
        EXPECT_THAT(on.Fill(x.base + 8, value, 2, 17), IsOk());
        break;
      case 3:
        EXPECT_THAT(Add(on, x, x, y), IsOk());
        break;
      default:
        EXPECT_THAT(FillPattern(on, {x.base, 64}, value), IsOk());
    }
  }

  const uint32_t seed_;
  const std::vector<AddressRange> ranges_;
  Event& fork_;
  Event& join_;
};

TEST_P(ReplayTest, AReplayEqualsEagerByteForByte) {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::vector<AddressRange> ranges;
    for (int i = 0; i < 4; ++i) ranges.push_back(NewWords(64));
    const auto reset = [&] {
      for (uint32_t i = 0; i < 4; ++i) Write(ranges[i], Pattern(seed + i, 64));
    };
    const auto read = [&] {
      std::vector<std::vector<uint32_t>> bytes;
      for (const AddressRange& range : ranges) bytes.push_back(Read(range));
      return bytes;
    };
    const RandomProgram program(seed, ranges, event(), other_event());
    reset();
    program.RunOn(a(), b());
    ASSERT_THAT(a().Synchronize(), IsOk());
    const auto eager = read();
    const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] { program.RunOn(a(), b()); });
    ASSERT_NE(graph, nullptr);
    const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
    for (int replay = 0; replay < 3; ++replay) {
      reset();
      Replay(*executable);
      EXPECT_EQ(read(), eager) << "replay " << replay;
    }
  }
}

TEST_P(ReplayTest, ReplaysAreInTheOrderOfTheirStream) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Append(a(), log, 5), IsOk()); });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  EXPECT_EQ(&executable->device(), &device());
  ASSERT_THAT(executable->Upload(b()), IsOk());
  ASSERT_THAT(Append(b(), log, 1), IsOk());
  ASSERT_THAT(executable->Launch(b()), IsOk());
  ASSERT_THAT(Append(b(), log, 2), IsOk());
  ASSERT_THAT(executable->Launch(b()), IsOk());
  ASSERT_THAT(executable->Launch(b()), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 5, 2, 5, 5}));
}

TEST_P(ReplayTest, EventsOrderReplaysOnDifferentStreams) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Delay(a(), 2000), IsOk());
    EXPECT_THAT(Append(a(), log, 5), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> one = InstantiateOf(*graph);
  ASSERT_THAT(one->Launch(a()), IsOk());
  ASSERT_THAT(a().Record(event()), IsOk());
  ASSERT_THAT(b().Wait(event()), IsOk());
  ASSERT_THAT(Append(b(), log, 6), IsOk());
  ASSERT_THAT(b().Record(other_event()), IsOk());
  ASSERT_THAT(c().Wait(other_event()), IsOk());
  ASSERT_THAT(one->Launch(c()), IsOk());
  ASSERT_THAT(c().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({5, 6, 5}));
}

TEST_P(ReplayTest, OneExecutablesLaunchesNeverOverlap) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Append(a(), log, 1), IsOk());
    EXPECT_THAT(Delay(a(), 500), IsOk());
    EXPECT_THAT(Append(a(), log, 2), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  for (int i = 0; i < 4; ++i) ASSERT_THAT(executable->Launch(i % 2 ? a() : b()), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  ASSERT_THAT(b().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_P(ReplayTest, AnExecutableOutlivesItsGraph) {
  const AddressRange log = NewLog();
  std::unique_ptr<Graph> graph = CaptureOn(a(), [&] { EXPECT_THAT(Append(a(), log, 8), IsOk()); });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  graph.reset();
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({8}));
}

TEST_P(ReplayTest, AnExecutableMayBeDestroyedWhileItsLaunchIsInFlight) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    EXPECT_THAT(Delay(a(), 20000), IsOk());
    EXPECT_THAT(Append(a(), log, 8), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_THAT(executable->Launch(a()), IsOk());
  executable.reset();
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf({8}));
}

TEST_P(ReplayTest, HostCallsRunAtEveryReplayUntilTheGraphIsGone) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> watch = calls;
  std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(a().CallHost([calls] { ++*calls; }), IsOk()); });
  ASSERT_NE(graph, nullptr);
  std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  EXPECT_EQ(*calls, 0);
  for (int i = 0; i < 5; ++i) Replay(*executable);
  EXPECT_EQ(*calls, 5);
  graph.reset();
  Replay(*executable);
  EXPECT_EQ(*calls, 6);
  calls.reset();
  EXPECT_FALSE(watch.expired()) << "the executable still needs its function";
  executable.reset();
  for (int i = 0; i < 1000 && !watch.expired(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(watch.expired()) << "the function was kept after its graph and executable went";
}

TEST_P(ReplayTest, ManyExecutablesOfOneGraphAreIndependent) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Append(a(), log, 1), IsOk()); });
  ASSERT_NE(graph, nullptr);
  std::vector<std::unique_ptr<Executable>> executables;
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < 200; ++i) {
    executables.push_back(InstantiateOf(*graph));
    ASSERT_NE(executables.back(), nullptr);
    ASSERT_THAT(executables.back()->PatchKernel(0, AppendKernel(), OneThread(),
                                                AppendArguments(log, 100 + i)),
                IsOk());
    ids.push_back(100 + i);
  }
  for (const auto& executable : executables) ASSERT_THAT(executable->Launch(a()), IsOk());
  ASSERT_THAT(a().Synchronize(), IsOk());
  EXPECT_EQ(ReadLog(log), LogOf(ids));
}

TEST_P(ReplayTest, DeviceBytesAreWithinReason) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] {
    for (uint64_t id = 0; id < 1000; ++id) EXPECT_THAT(Append(a(), log, id), IsOk());
  });
  ASSERT_NE(graph, nullptr);
  std::vector<std::unique_ptr<Executable>> executables;
  uint64_t total = 0;
  for (int i = 0; i < 10; ++i) {
    executables.push_back(InstantiateOf(*graph));
    ASSERT_NE(executables.back(), nullptr);
    total += executables.back()->device_bytes();
  }
  EXPECT_GE(total, 10u << 20);
  EXPECT_LE(total, 40u << 20);
  Replay(*executables.back());
}

TEST_P(ReplayTest, ALaunchIntoACaptureIsRefusedAndInvalidatesIt) {
  const AddressRange log = NewLog();
  const std::unique_ptr<Graph> inner =
      CaptureOn(a(), [&] { EXPECT_THAT(Append(a(), log, 2), IsOk()); });
  ASSERT_NE(inner, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*inner);
  ASSERT_THAT(a().BeginCapture(CaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(executable->Launch(a()), HasError(ErrorCode::kCaptureUnsupported, "launching"));
  EXPECT_THAT(a().EndCapture(), HasError(ErrorCode::kCaptureInvalidated, ""));
  Replay(*executable);
  EXPECT_EQ(ReadLog(log), LogOf({2}));
}

TEST_P(ReplayTest, AnotherDevicesStreamIsRefused) {
  const std::unique_ptr<Graph> graph = CaptureOn(a(), [&] { Empty(a()).IgnoreError(); });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> other, GetParam().open());
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> foreign, other->NewStream());
    EXPECT_THAT(executable->Launch(*foreign),
                HasError(ErrorCode::kInvalidHandle, "another device"));
    EXPECT_THAT(executable->Upload(*foreign),
                HasError(ErrorCode::kInvalidHandle, "another device"));
  }
  EXPECT_THAT(other->Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
