// Callbacks that throw, in a program that is compiled with exceptions: an error of the call, after
// which everything is as before it and the tree goes on.
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "allocator/pool.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "device/observer.h"
#include "graphs/function_hooks.h"
#include "graphs/random/generator.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/tree/bodies.h"

namespace graphtree {
namespace {

using absl::StatusCode;

constexpr int64_t kWords = 64;

void ThrowIf(bool wanted) {
  if (wanted) throw std::runtime_error("out of luck");
}

class ThrowsTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({});
    stream_ = *device_->NewStream();
    buffer_ = *device_->memory().AllocateHost(kWords * sizeof(uint32_t));
    std::memset(buffer_->data(), 0, buffer_->bytes());
    Open({});
  }
  void Open(TreeOptions options) {
    tree_ = nullptr;
    tree_ = *Tree::Create(*device_, options);
  }
  // Closed on another thread, which would wait for ever for a call that never ended.
  void TearDown() override {
    std::thread([this] { tree_.reset(); }).join();
    stream_.reset();
    buffer_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  absl::Status Run(FunctionId function) {
    Values inputs = {Tensor::Foreign(buffer_->range().base, WordsLayout(kWords))}, outputs;
    tree_->BeginStep();
    const absl::Status status =
        tree_->Run(function, absl::MakeSpan(inputs), *stream_, &outputs);
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    return status;
  }
  uint32_t Held() {
    uint32_t word;
    std::memcpy(&word, buffer_->data(), sizeof(word));
    return word;
  }
  // Runs that work up to one that throws, which changes nothing, and more that work.
  void ExpectOneFailure(const FunctionOptions& options, int runs_before, const Body& body,
                        uint32_t by, uint64_t numbers) {
    const FunctionId function = tree_->Register("f", options, body);
    const uint32_t first = Held();
    for (int run = 0; run < runs_before; ++run) ASSERT_THAT(Run(function), IsOk());
    const uint32_t before = Held();
    const uint64_t drawn = generator_->offset();
    throws_ = true;
    EXPECT_THAT(Run(function), FailsWith(StatusCode::kUnknown, "'f'"));
    EXPECT_THAT(Run(function), FailsWith(StatusCode::kUnknown,
                                         "it threw an exception: out of luck"));
    throws_ = false;
    EXPECT_EQ(Held(), before);
    EXPECT_EQ(generator_->offset(), drawn);
    std::thread([&] { EXPECT_THAT(Run(function), IsOk()); }).join();
    for (int run = 0; run < 3; ++run) ASSERT_THAT(Run(function), IsOk());
    EXPECT_EQ(Held(), first + by * (runs_before + 4));
    EXPECT_EQ(generator_->offset(), drawn + 4 * numbers);
    EXPECT_EQ(tree_->stats().replays > 0, !options.exclude);
  }
  Body ThrowingBody() {
    return [this](Launcher& on, Values& inputs) {
      std::vector<int> mine(100);  // goes with the frame
      on.Random(generator_, 10);
      ThrowIf(throws_);
      Bump(on, inputs[0], 1);
      return Values{};
    };
  }
  Body BodyWithThrowingPart() {
    return [this](Launcher& on, Values& inputs) {
      const Tensor x = Tensor::From(inputs[0]);
      Bump(on, x, 1);
      on.Break("may throw", {InOut(x)}, [this](Launcher& part, absl::Span<const Tensor> tensors) {
        part.Random(generator_, 10);
        Bump(part, tensors[0], 10);
        ThrowIf(throws_);
      });
      Bump(on, x, 100);
      return Values{};
    };
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> buffer_;
  std::unique_ptr<Tree> tree_;
  std::shared_ptr<Generator> generator_ = std::make_shared<Generator>(1);
  bool throws_ = false;
};

TEST_F(ThrowsTest, ABodyInAWarmUp) { ExpectOneFailure({}, 0, ThrowingBody(), 1, 10); }
TEST_F(ThrowsTest, ABodyInARecording) { ExpectOneFailure({}, 1, ThrowingBody(), 1, 10); }
TEST_F(ThrowsTest, ABodyInAnEagerRun) {
  ExpectOneFailure({.exclude = true}, 2, ThrowingBody(), 1, 10);
}
TEST_F(ThrowsTest, APartInARecording) {
  ExpectOneFailure({.static_inputs = {0}}, 1, BodyWithThrowingPart(), 111, 10);
}
TEST_F(ThrowsTest, APartInAReplay) {
  ExpectOneFailure({.static_inputs = {0}}, 3, BodyWithThrowingPart(), 111, 10);
}
TEST_F(ThrowsTest, APartInAnEagerRun) {
  ExpectOneFailure({.static_inputs = {0}, .exclude = true}, 2, BodyWithThrowingPart(), 111, 10);
}

// Only the recording: the call then runs eagerly, as with any body that cannot be recorded.
TEST_F(ThrowsTest, ABodyThatThrowsOnlyWhileItIsRecorded) {
  int runs = 0;
  const FunctionId function =
      tree_->Register("f", {}, [&runs](Launcher& on, Values& inputs) -> Values {
        const Tensor scratch = on.Empty(inputs[0].layout());
        on.Fill(scratch, 1);
        if (++runs == 2) throw 5;
        Bump(on, inputs[0], 1);
        return {};
      });
  for (int run = 1; run <= 6; ++run) {
    ASSERT_THAT(Run(function), IsOk());
    EXPECT_EQ(Held(), static_cast<uint32_t>(run));
  }
  EXPECT_EQ(tree_->stats().recordings, 1u);
  EXPECT_GT(tree_->stats().replays, 0u);
}

TEST_F(ThrowsTest, WhatIsNoStandardExceptionIsSaidToBeNone) {
  const FunctionId function =
      tree_->Register("f", {}, [](Launcher&, Values&) -> Values { throw 5; });
  EXPECT_THAT(Run(function), FailsWith(StatusCode::kUnknown, "that is no std::exception"));
}

class ThrowingObserver : public Observer {
 public:
  void Saw(const GraphEvent&) override {
    ++seen;
    throw std::runtime_error("seen too much");
  }
  int seen = 0;
};

TEST_F(ThrowsTest, ThoseWhoOnlyWatchChangeNothing) {
  std::vector<std::string> warnings;
  Open({.warn = [&warnings](const std::string& text) { warnings.push_back(text); }});
  ThrowingObserver observer;
  tree_->observers().Join(&observer);
  const FunctionId function = tree_->Register("f", {}, ThrowingBody());
  for (uint32_t run = 1; run <= 4; ++run) {
    ASSERT_THAT(Run(function), IsOk());
    EXPECT_EQ(Held(), run);
  }
  EXPECT_EQ(tree_->stats().replays, 2u);
  EXPECT_GE(observer.seen, 7);
  EXPECT_EQ(tree_->stats().thrown, static_cast<uint64_t>(observer.seen));
  ASSERT_EQ(warnings.size(), 1u) << "told once";
  EXPECT_NE(warnings[0].find("seen too much"), std::string::npos) << warnings[0];
  tree_.reset();  // tells of what it destroys
  tree_ = *Tree::Create(*device_, {});
}

// At every kind of event.
class ThrowsAtAll : public ThrowingObserver {
 public:
  Wishes wishes() const override { return {.ops = true, .phases = true}; }
  void SawOp(const OpEvent&) override { Saw({}); }
  void SawPhase(const PhaseEvent&) override { Saw({}); }
};

TEST_F(ThrowsTest, ObserversOfOpsAndPhasesChangeNothing) {
  ThrowsAtAll first, second;
  tree_->observers().Join(&first);
  Observers::OfProcess().Join(&second);
  const FunctionId function = tree_->Register("f", {}, ThrowingBody());
  for (uint32_t run = 1; run <= 4; ++run) {
    ASSERT_THAT(Run(function), IsOk());
    EXPECT_EQ(Held(), run);
  }
  EXPECT_GT(first.seen, 15);
  EXPECT_EQ(first.seen, second.seen) << "each is told, though one throws";
  EXPECT_EQ(tree_->stats().thrown, static_cast<uint64_t>(first.seen + second.seen));
  tree_->observers().Leave(&first);
  Observers::OfProcess().Leave(&second);
}

TEST_F(ThrowsTest, AHookThatThrowsBeforeALaunchStopsIt) {
  FunctionOptions options;
  options.hooks.before_launch = [this](const LaunchInfo&) -> absl::Status {
    ThrowIf(throws_);
    return absl::OkStatus();
  };
  for (const int runs_before : {0, 1, 2, 3}) {
    const Body body = [](Launcher& on, Values& inputs) {
      Bump(on, inputs[0], 1);
      return Values{};
    };
    ExpectOneFailure(options, runs_before, body, 1, 0);
  }
}

TEST_F(ThrowsTest, AHookThatThrowsAfterALaunchIsCounted) {
  FunctionOptions options;
  uint64_t launches = 0;
  options.hooks.after_launch = [&launches](const LaunchInfo&, const absl::Status&) {
    ++launches;
    throw std::runtime_error("too late");
  };
  const FunctionId function = tree_->Register("f", options, ThrowingBody());
  for (uint32_t run = 1; run <= 4; ++run) {
    ASSERT_THAT(Run(function), IsOk());
    EXPECT_EQ(Held(), run);
  }
  EXPECT_EQ(launches, 5u) << "a warm-up, a capture with its launch, and two replays";
  EXPECT_EQ(tree_->stats().thrown, launches);
}

TEST_F(ThrowsTest, AWarningThatThrowsChangesNothing) {
  Open({.warn = [](const std::string&) { throw std::runtime_error("not me"); }});
  const FunctionId function = tree_->Register("f", {}, [](Launcher& on, Values& inputs) {
    on.Fail(on.stream().Synchronize());  // not to be recorded, which is told
    Bump(on, inputs[0], 1);
    return Values{};
  });
  for (uint32_t run = 1; run <= 4; ++run) {
    ASSERT_THAT(Run(function), IsOk());
    EXPECT_EQ(Held(), run);
  }
  EXPECT_GE(tree_->stats().thrown, 1u);
}

TEST_F(ThrowsTest, WhoeverLooksGetsHisOwnExceptionBack) {
  const FunctionId function = tree_->Register("f", {}, ThrowingBody());
  ASSERT_THAT(Run(function), IsOk());
  try {
    tree_->Inspect([] { ThrowIf(true); });
    ADD_FAILURE() << "nothing came out of it";
  } catch (const std::runtime_error& thrown) {
    EXPECT_STREQ(thrown.what(), "out of luck");
  }
  std::thread([&] { EXPECT_THAT(Run(function), IsOk()); }).join();
  EXPECT_THAT(tree_->pool().NoteSnapshot([] { ThrowIf(true); }),
              FailsWith(StatusCode::kUnknown, "out of luck"));
  EXPECT_THAT(Run(function), IsOk());
}

TEST(ThrowingPoolTest, AServerThatThrowsHasGivenNothing) {
  std::unique_ptr<Device> device = *OpenHostDevice({});
  std::unique_ptr<Stream> stream = *device->NewStream();
  {
    PoolOptions options;
    options.limit_bytes = 4 << 20;
    options.before_out_of_memory = [](const MemoryWanted&) -> bool { throw 5; };
    std::unique_ptr<Pool> pool = *Pool::Create(*device, options);
    EXPECT_FALSE(pool->Allocate(64 << 20, *stream).ok());
    EXPECT_THAT(pool->failures().deferred, FailsWith(StatusCode::kUnknown, "exception"));
    EXPECT_THAT(pool->Allocate(1 << 20, *stream), IsOk());
  }
  stream.reset();
  EXPECT_THAT(device->Close(), IsOk());
}

// What runs on the device is the device's: it is lost, as with any other fault of an op.
TEST(ThrowingWorkTest, AHostFunctionThatThrowsLosesTheHostDevice) {
  for (const HostScheduler scheduler :
       {HostScheduler::kSeeded, HostScheduler::kImmediate, HostScheduler::kThreads}) {
    HostOptions options;
    options.scheduler = scheduler;
    std::unique_ptr<Device> device = *OpenHostDevice(options);
    std::unique_ptr<Stream> stream = *device->NewStream();
    stream->CallHost([] { ThrowIf(true); }).IgnoreError();
    EXPECT_THAT(stream->Synchronize(), FailsWith(StatusCode::kInternal, "out of luck"));
    EXPECT_FALSE(device->health().ok());
    stream.reset();
    EXPECT_THAT(device->Close(), IsOk());
  }
}

}  // namespace
}  // namespace graphtree
