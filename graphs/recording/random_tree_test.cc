// Random numbers through a tree: warm-ups, recordings, replays and eager runs draw one sequence.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "graphs/launcher.h"
#include "graphs/random/generator.h"
#include "graphs/random/philox.h"
#include "graphs/random/random_source.h"
#include "graphs/random/uniform.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint32_t kCount = 37;

std::vector<float> Numbers(uint64_t seed, uint64_t offset) {
  std::vector<float> numbers(kCount);
  for (uint32_t i = 0; i < kCount; ++i) numbers[i] = UniformFloat(RandomWord(seed, offset + i));
  return numbers;
}

Tensor Draw(Launcher& on, const GeneratorPtr& generator) {
  const Tensor out = on.Empty(DType::kF32, {kCount});
  if (on.ok()) {
    on.Launch(UniformKernel(), UniformShape(kCount),
              {Out(out), Val(kCount), Val(on.Random(generator, kCount))});
  }
  return out;
}

class RandomTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = std::make_unique<FaultDevice>(*OpenHostDevice());
    stream_ = *device_->NewStream();
    host_ = *device_->memory().AllocateHost(kCount * sizeof(float));
    tree_ = *Tree::Create(*device_, {});
  }
  void TearDown() override {
    tree_.reset();
    host_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  std::vector<float> Read(const Value& value) {
    EXPECT_THAT(stream_->Copy(host_->range().base, value.word(), host_->bytes()), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    std::vector<float> numbers(kCount);
    std::memcpy(numbers.data(), host_->data(), host_->bytes());
    return numbers;
  }
  void ExpectNext(Tree& tree, FunctionId function, uint64_t seed, uint64_t offset) {
    tree.BeginStep();
    const absl::StatusOr<Values> outputs = tree.Run(function, {}, *stream_);
    ASSERT_THAT(outputs, IsOk());
    EXPECT_EQ(Read((*outputs)[0]), Numbers(seed, offset)) << "numbers from " << offset;
  }

  std::unique_ptr<FaultDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> host_;
  std::unique_ptr<Tree> tree_;
  const GeneratorPtr generator_ = std::make_shared<Generator>(7);
  const Body body_ = [this](Launcher& on, Values&) { return Values{Draw(on, generator_)}; };
};

TEST_F(RandomTreeTest, ReplaysGoOnWhereEagerRunsStopped) {
  const FunctionId function = tree_->Register("draw", {}, body_);
  for (int run = 0; run < 8; ++run) ExpectNext(*tree_, function, 7, run * kCount);
  EXPECT_EQ(tree_->stats().replays, 6u);
  EXPECT_EQ(generator_->offset(), 8 * kCount);
}

TEST_F(RandomTreeTest, OneGeneratorFeedsSeveralTreesAndTheCaller) {
  const std::unique_ptr<Tree> other = *Tree::Create(*device_, {});
  const FunctionId here = tree_->Register("here", {}, body_);
  const FunctionId there = other->Register("there", {}, body_);
  uint64_t offset = 0;
  for (int run = 0; run < 5; ++run) {
    ExpectNext(*tree_, here, 7, offset);
    ExpectNext(*other, there, 7, offset + kCount);
    generator_->Take(11);
    offset += 2 * kCount + 11;
  }
}

TEST_F(RandomTreeTest, AFunctionMayDrawFromSeveralGeneratorsAndOften) {
  const GeneratorPtr second = std::make_shared<Generator>(8);
  const FunctionId function = tree_->Register("both", {}, [&](Launcher& on, Values&) {
    return Values{Draw(on, generator_), Draw(on, second), Draw(on, generator_)};
  });
  for (uint64_t run = 0; run < 5; ++run) {
    tree_->BeginStep();
    const absl::StatusOr<Values> outputs = tree_->Run(function, {}, *stream_);
    ASSERT_THAT(outputs, IsOk());
    EXPECT_EQ(Read((*outputs)[0]), Numbers(7, 2 * run * kCount));
    EXPECT_EQ(Read((*outputs)[1]), Numbers(8, run * kCount));
    EXPECT_EQ(Read((*outputs)[2]), Numbers(7, (2 * run + 1) * kCount));
  }
  EXPECT_EQ(tree_->stats().replays, 3u);
}

TEST_F(RandomTreeTest, ASeedThatChangesIsSeenByTheNextReplay) {
  const FunctionId function = tree_->Register("draw", {}, body_);
  for (int run = 0; run < 3; ++run) ExpectNext(*tree_, function, 7, run * kCount);
  generator_->Seed(99, 5);
  ExpectNext(*tree_, function, 99, 5);
}

TEST_F(RandomTreeTest, AFailedReplayTakesNothing) {
  const FunctionId function = tree_->Register("draw", {}, body_);
  for (int run = 0; run < 3; ++run) ExpectNext(*tree_, function, 7, run * kCount);
  for (const char* call : {"Executable.PatchKernel", "Executable.Launch"}) {
    tree_->BeginStep();
    device_->plan().FailCallOf(call, 1, ErrorCode::kOutOfMemory);
    EXPECT_FALSE(tree_->Run(function, {}, *stream_).ok()) << call;
    EXPECT_EQ(generator_->offset(), 3 * kCount) << call;
  }
  ExpectNext(*tree_, function, 7, 3 * kCount);
}

TEST_F(RandomTreeTest, AFailedRecordingRunsEagerlyWithTheNumbersThatWereDue) {
  const FunctionId function = tree_->Register("draw", {}, body_);
  ExpectNext(*tree_, function, 7, 0);
  device_->plan().FailCallOf("Graph.Instantiate", 1, ErrorCode::kOutOfMemory);
  ExpectNext(*tree_, function, 7, kCount);
  EXPECT_EQ(tree_->stats().eager, 1u);
  for (int run = 2; run < 5; ++run) ExpectNext(*tree_, function, 7, run * kCount);
  EXPECT_GT(tree_->stats().replays, 0u);
}

TEST_F(RandomTreeTest, AGeneratorThatIsNewInTheRecordingIsDrawnFromEagerly) {
  const GeneratorPtr second = std::make_shared<Generator>(8);
  bool both = false;
  const FunctionId function = tree_->Register("grows", {}, [&](Launcher& on, Values&) {
    const Tensor first = Draw(on, generator_);
    return both ? Values{Draw(on, second)} : Values{first};
  });
  ExpectNext(*tree_, function, 7, 0);
  both = true;
  for (int run = 0; run < 4; ++run) ExpectNext(*tree_, function, 8, run * kCount);
  EXPECT_EQ(generator_->offset(), 5 * kCount);
}

}  // namespace
}  // namespace graphtree
