// Rows about two devices in one process: two host devices, or two GPUs where there are so many.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/open.h"
#include "graphs/random/generator.h"
#include "graphs/random/random_source.h"
#include "graphs/random/uniform.h"
#include "tests/tree/breaks_fixture.h"
#include "tests/tree/fleeting_memory.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class DevicesTest : public BreaksFixture {
 protected:
  static constexpr uint32_t kDraws = 16;

  void SetUp() override {
    BreaksFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const bool is_host = device().info().architecture == "host";
    auto other = is_host ? GetParam().open() : OpenDevice("cuda:1");
    if (!other.ok() && !is_host) {
      GTEST_SKIP() << "needs a second GPU: " << other.status().message();
    }
    ASSERT_THAT(other, IsOk());
    other_ = *std::move(other);
    ASSERT_OK_AND_ASSIGN(stream_, other_->NewStream());
    OpenOtherTree({});
  }
  void TearDown() override {
    other_tree_.reset();
    stream_.reset();
    if (other_ != nullptr) {
      EXPECT_THAT(other_->Close(), IsOk());
    }
    BreaksFixture::TearDown();
  }
  void OpenOtherTree(TreeOptions options) {
    options.pool_bytes = 64 << 20;
    other_tree_.reset();
    ASSERT_OK_AND_ASSIGN(other_tree_, Tree::Create(*other_, options));
  }
  Device& other_device() { return *other_; }
  Tree& other_tree() { return *other_tree_; }
  Stream& other_stream() { return *stream_; }
  // A tensor of the other device's, which lives until the other tree's next step.
  Value MadeThere(uint32_t seed) {
    const FunctionId make = other_tree_->Register("make", {}, [seed](Launcher& on, Values&) {
      return Values{Filled(on, seed, kWords)};
    });
    return CallThere(make, {})[0];
  }
  Values CallThere(FunctionId function, Values inputs) {
    Values outputs;
    EXPECT_THAT(other_tree_->Run(function, absl::MakeSpan(inputs), *stream_, &outputs), IsOk());
    return outputs;
  }
  Words ReadThere(const Value& value) {
    Words words(Tensor::From(value).shape().elements());
    EXPECT_THAT(stream_->Copy(AddressOf(words.data()), value.word(), words.size() * 4), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    return words;
  }
  // The function refuses `there` as its second input, before and behind its recording, and nothing
  // of it runs; with its own device's it goes on.
  void ExpectRefused(FunctionId function, const int& bodies, const Words& expected) {
    const Tensor x = Given(1);
    Values inputs = {x, MadeThere(2)};
    for (int step = 0; step < 4; ++step) {
      const int before = bodies;
      NewStep();
      EXPECT_THAT(Failure(function, inputs),
                  FailsWith(StatusCode::kInvalidArgument,
                            absl::StrCat("input 1 of 'both' lies on another device, ")));
      EXPECT_EQ(bodies, before) << "it has not run";
      EXPECT_TRUE(inputs[1].is_tensor()) << "a refused call consumes nothing";
      EXPECT_EQ(Read(CallInSteps(1, function, {x, x})[0]), expected);
    }
    EXPECT_EQ(ReadThere(inputs[1]), PatternOf(2));
    EXPECT_EQ(graphs(), 1u);
    EXPECT_EQ(replays(), 2u);
  }

 private:
  std::unique_ptr<Device> other_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Tree> other_tree_;
};
GRAPHTREE_ON_EVERY_DEVICE(DevicesTest);

// Row 5. A function of two devices is an error here, and not an eager run: no kernel could do it.
TEST_P(DevicesTest, MultipleDevicesMsg) {
  int bodies = 0;
  const FunctionId function = Register("both", {}, [&bodies](Launcher& on, Values& inputs) {
    ++bodies;
    return AddBoth(on, inputs);
  });
  ExpectRefused(function, bodies, Times(PatternOf(1), 2));
}

// The same of memory that is nobody's but the caller's, which carries no name: also where a
// recording serves inputs at any address.
TEST_P(DevicesTest, MemoryOfTheCallersOnAnotherDevice) {
  const Value there = MadeThere(2);
  const Tensor foreign = Tensor::Foreign(there.word(), there.layout());
  for (const bool check : {false, true}) {
    OpenTree({.check = check});
    const FunctionId function = Register("both", {}, AddBoth);
    const Tensor x = Given(1);
    for (int step = 0; step < 4; ++step) {
      NewStep();
      EXPECT_THAT(Refusal(function, {x, foreign}),
                  FailsWith(StatusCode::kInvalidArgument,
                            "input 1 of 'both' lies on another device, "))
          << "step " << step;
      EXPECT_EQ(Read(CallInSteps(1, function, {x, x})[0]), Times(PatternOf(1), 2));
    }
    EXPECT_EQ(replays(), 2u);
  }
}

// Whose an address is counts now, not when a call brought it last.
TEST_P(DevicesTest, AnAddressThatChangesHands) {
  if (device().info().architecture != "host") GTEST_SKIP() << "needs a place for a wish";
  const FunctionId function = Register("both", {}, AddBoth);
  const Tensor x = Given(1);
  FleetingMemory memory;
  memory.Open(device().memory());
  const Tensor lent = Tensor::Foreign(memory.base(), x.layout());
  const Words words = PatternOf(2);
  EXPECT_THAT(a().Copy(memory.base(), AddressOf(words.data()), words.size() * 4), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
  for (int call = 0; call < 4; ++call) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x, lent})[0]), Plus(PatternOf(1), PatternOf(2)));
    EXPECT_EQ(Read(CallInSteps(1, function, {x, x})[0]), Times(PatternOf(1), 2));
  }
  EXPECT_THAT(a().Synchronize(), IsOk());
  const Address base = memory.base();
  memory.Close();
  memory.Open(other_device().memory(), base);
  ASSERT_EQ(memory.base(), base);
  NewStep();
  EXPECT_THAT(Refusal(function, {x, lent}),
              FailsWith(StatusCode::kInvalidArgument,
                        "input 1 of 'both' lies on another device, "));
  memory.Close();
}

// Row 146: work on the host is a part, and cuts the recording; another device is refused.
TEST_P(DevicesTest, GraphPartitionMultipleDevicesMsg) {
  int bodies = 0;
  const FunctionId function = Register("both", {}, [&](Launcher& on, Values& inputs) {
    ++bodies;
    return Values{Sum(on, HostTimes(on, inputs[0], 3), inputs[1])};
  });
  ExpectRefused(function, bodies, Times(PatternOf(1), 4));
  EXPECT_EQ(tree().stats().sections, 2u);
  EXPECT_EQ(eager(), 0u);
}

// Row 65: what runs on one device leaves nothing on the other, and outlives the other's tree.
TEST_P(DevicesTest, ManagerPerDevice) {
  const FunctionId twice = other_tree().Register("twice", {}, Twice);
  const Value made = MadeThere(3);
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(ReadThere(CallThere(twice, {made})[0]), Times(PatternOf(3), 2));
  }
  EXPECT_GT(other_tree().stats().pool_reserved_bytes, 0u);
  EXPECT_EQ(tree().stats().calls, 0u);
  EXPECT_EQ(tree().stats().nodes, 0u);
  EXPECT_EQ(tree().stats().pool_reserved_bytes, 0u);
  const FunctionId here = Register("here", {}, Thrice);
  EXPECT_EQ(Read(CallInSteps(3, here, {Given(1)})[0]), Times(PatternOf(1), 3));
  EXPECT_EQ(graphs(), 1u) << "no function of the other tree's";
  CloseTree();
  EXPECT_EQ(ReadThere(CallThere(twice, {made})[0]), Times(PatternOf(3), 2));
}

// Row 194: forward and backward on the second device, with random numbers, as a tree that is off
// gives them.
TEST_P(DevicesTest, CudagraphsAotEagerCompatEqualDeviceOne) {
  std::vector<std::vector<Words>> runs;
  for (const bool enabled : {false, true}) {
    OpenOtherTree({.enabled = enabled});
    const auto generator = std::make_shared<Generator>(4);
    const auto draw = [generator](Launcher& on, Values&) {
      const Tensor out = on.Empty(DType::kF32, {kDraws});
      if (!on.ok()) return Values{};
      on.Launch(UniformKernel(), UniformShape(kDraws),
                {Out(out), Val(kDraws), Val(on.Random(generator, kDraws))});
      return Values{out};
    };
    const FunctionId forward = other_tree().Register("forward", {}, draw);
    const FunctionId backward = other_tree().Register("backward", {}, Twice);
    std::vector<Words>& run = runs.emplace_back();
    for (int step = 0; step < 4; ++step) {
      other_tree().BeginStep();
      Values out = CallThere(forward, {});
      run.push_back(ReadThere(out[0]));
      run.push_back(ReadThere(CallThere(backward, std::move(out))[0]));
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(other_tree().stats().eager, 0u);
  EXPECT_EQ(other_tree().stats().replays, 4u);
}

}  // namespace
}  // namespace graphtree
