// Checked mode on a device that fails: the call in which it happens says so, with function and op.
// On the host device alone, as its device is lost with it.
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/error.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/bodies.h"

namespace graphtree {

constexpr uint32_t kCount = 16;

// Places to be found in stacks.
[[gnu::noinline]] void LaunchesHidden(Launcher& on, Address hidden) {
  on.Launch(IncrementKernel(), TestShape(), {Val(hidden), Val(uint32_t{1}), Val(kCount)});
  asm volatile("");
}
[[gnu::noinline]] absl::Status StepsHere(Tree& tree, FunctionId function, Stream& stream) {
  Values outputs;
  absl::Status status = tree.Run(function, {}, stream, &outputs);
  asm volatile("");
  return status;
}

namespace {

using absl::StatusCode;

class CheckedFailureTest : public testing::TestWithParam<HostScheduler> {
 protected:
  void SetUp() override {
    HostOptions options;
    options.scheduler = GetParam();
    device_ = *OpenHostDevice(options);
    stream_ = *device_->NewStream();
    Memory& memory = device_->memory();
    range_ = *memory.Reserve(memory.granularity(), {});
    physical_ = *memory.Create(memory.granularity());
    ASSERT_THAT(memory.Map(range_.base, *physical_), IsOk());
    ASSERT_THAT(memory.SetAccess(range_, MemoryAccess::kReadWrite), IsOk());
    TreeOptions tree_options;
    tree_options.check = true;
    tree_ = *Tree::Create(*device_, tree_options);
    // A pointer that nobody declares, as one hidden in a structure would be.
    const Address hidden = range_.base;
    function_ = tree_->Register("hides_a_pointer", {}, [hidden](Launcher& on, Values&) {
      LaunchesHidden(on, hidden);
      return Values{};
    });
  }
  absl::Status Step() {
    tree_->BeginStep();
    return StepsHere(*tree_, function_, *stream_);
  }

  void ExpectBothStacks(const absl::Status& status) {
    const std::string text(status.message());
    const size_t launched = text.find("'increment' was launched at:\n    ");
    const size_t called = text.find("'hides_a_pointer' was called at:\n    ");
    ASSERT_NE(launched, std::string::npos) << text;
    ASSERT_NE(called, std::string::npos) << text;
    EXPECT_LT(launched, called) << text;
    EXPECT_LT(text.find("LaunchesHidden", launched), called) << text;
    EXPECT_NE(text.find("StepsHere", called), std::string::npos) << text;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
  std::unique_ptr<Tree> tree_;
  FunctionId function_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Schedulers, CheckedFailureTest,
                         testing::Values(HostScheduler::kSeeded, HostScheduler::kImmediate,
                                         HostScheduler::kThreads));

TEST_P(CheckedFailureTest, AReplayThatFaultsIsNamedWithItsOp) {
  for (int step = 0; step < 3; ++step) ASSERT_THAT(Step(), IsOk());
  ASSERT_EQ(tree_->stats().replays, 1u);
  ASSERT_THAT(device_->memory().Unmap(range_), IsOk());
  const absl::Status status = Step();
  EXPECT_THAT(status, FailsWith(StatusCode::kInternal, "'hides_a_pointer'"));
  EXPECT_THAT(status, FailsWith(StatusCode::kInternal, "increment"));
  ExpectBothStacks(status);
  EXPECT_FALSE(device_->health().ok());
}

TEST_P(CheckedFailureTest, SoIsAWarmUp) {
  ASSERT_THAT(device_->memory().Unmap(range_), IsOk());
  const absl::Status status = Step();
  EXPECT_THAT(status, FailsWith(StatusCode::kInternal, "'hides_a_pointer'"));
  EXPECT_THAT(status, FailsWith(StatusCode::kInternal, "increment"));
  ExpectBothStacks(status);
}

// The work is done all the same: what it wrote to its caller's memory is put back, and random
// numbers and the path are as if the call had not been.
TEST(FailedWaitTest, AReplayLeavesWhatWasThere) {
  for (const bool is_input : {false, true}) {
    FaultDevice device(*OpenHostDevice());
    const std::unique_ptr<Stream> stream = *device.NewStream();
    const std::unique_ptr<HostBuffer> buffer = *device.memory().AllocateHost(kCount * 4);
    auto* const words = static_cast<uint32_t*>(buffer->data());
    for (uint32_t i = 0; i < kCount; ++i) words[i] = i;
    const Tensor here = Tensor::Foreign(AddressOf(words), WordsLayout(kCount));
    const std::unique_ptr<Tree> tree = *Tree::Create(device, {.check = true});
    const FunctionId count = tree->Register(
        "count", {.static_inputs = {0}}, [&](Launcher& on, Values& inputs) {
          const Tensor data = is_input ? Tensor::From(inputs[0]) : here;
          on.Launch(IncrementKernel(), TestShape(), {InOut(data), Val(3u), Val(kCount)});
          return Values{};
        });
    const auto step = [&] {
      tree->BeginStep();
      Values inputs = {is_input ? Value(here) : Value::Integer(1)};
      Values outputs;
      return tree->Run(count, absl::MakeSpan(inputs), *stream, &outputs);
    };
    uint32_t calls = 0;
    for (; calls < 4; ++calls) ASSERT_THAT(step(), IsOk());
    ASSERT_EQ(tree->stats().replays, 2u);
    for (int failures = 0; failures < 3; ++failures) {
      device.plan().FailEveryCallOf("Stream.Synchronize", ErrorCode::kInvalidValue);
      EXPECT_THAT(step(), FailsWith(StatusCode::kInvalidArgument, "'count'"));
      device.plan().Clear();
      ASSERT_THAT(stream->Synchronize(), IsOk());
      for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(words[i], i + 3 * calls) << is_input;
      ASSERT_THAT(step(), IsOk());
      ++calls;
      ASSERT_THAT(stream->Synchronize(), IsOk());
      for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(words[i], i + 3 * calls) << is_input;
    }
  }
}

// As a GPU says it: the wait fails, and tells of no kernel.
TEST(SilentFailureTest, TheOpsThatItMayHaveBeenAreNamed) {
  for (const bool has_several : {false, true}) {
    for (const int steps : {0, 1, 3}) {
      FaultDevice device(*OpenHostDevice());
      const std::unique_ptr<Stream> stream = *device.NewStream();
      const std::unique_ptr<HostBuffer> buffer = *device.memory().AllocateHost(kCount * 4);
      const std::unique_ptr<Tree> tree = *Tree::Create(device, {.check = true});
      const FunctionId function =
          tree->Register("suspect", {}, [has_several](Launcher& on, Values& inputs) {
            const Tensor sum = Sum(on, inputs[0], inputs[0]);
            if (has_several) Bump(on, sum, 1);
            return Values{sum};
          });
      const auto step = [&] {
        tree->BeginStep();
        const Tensor x = Tensor::Foreign(buffer->range().base, WordsLayout(kCount));
        return tree->Run(function, {x}, *stream).status();
      };
      for (int i = 0; i < steps; ++i) ASSERT_THAT(step(), IsOk());
      // Before and behind its body a warm-up waits to see its inputs, too.
      const int waits_before = steps == 0 ? 1 : 0;
      device.plan().FailCallOf("Stream.Synchronize", 1 + waits_before, ErrorCode::kIllegalAddress);
      EXPECT_THAT(step(), FailsWith(StatusCode::kInternal,
                                    has_several ? "the device failed in 'suspect', in one of its "
                                                  "ops 'add', 'increment': "
                                                : "the device failed in 'suspect', in its op "
                                                  "'add': "))
          << steps << " steps before";
      device.plan().Clear();
    }
  }
}

}  // namespace
}  // namespace graphtree
