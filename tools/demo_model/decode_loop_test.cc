// The model decodes on the host device: the same tokens every time, and tokens that depend on what
// they should depend on.
#include "tools/demo_model/decode_loop.h"

#include <memory>
#include <set>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/demo_model/eager_executor.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/tree_executor.h"

namespace graphtree::demo {
namespace {

class DecodeLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = OpenHostDevice({.scheduler = HostScheduler::kImmediate});
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    stream_ = *device_->NewStream();
    weights_ = *Weights::Load(*device_, *stream_, 1);
    inputs_ = *StepInputs::Create(*device_);
  }
  void TearDown() override {
    inputs_.reset();
    weights_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  Day RunEagerly(const std::vector<Request>& requests, uint64_t seed = 5) {
    auto executor =
        EagerExecutor::Create(*device_, *stream_, std::make_shared<Generator>(seed));
    EXPECT_THAT(executor, IsOk());
    auto day = RunDay(*stream_, *weights_, *inputs_, **executor, {requests, kSlots});
    EXPECT_THAT(day, IsOk());
    launches_ = (*executor)->launches(ModelFunction::kDecode);
    return *std::move(day);
  }

  static std::vector<std::vector<int>> Tokens(const Day& day) {
    std::vector<std::vector<int>> tokens;
    for (const StepRecord& step : day.steps) tokens.push_back(step.picked);
    return tokens;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<StepInputs> inputs_;
  uint64_t launches_ = 0;
};

TEST_F(DecodeLoopTest, TheSameDayGivesTheSameTokens) {
  const std::vector<Request> requests = MakeRequests(1, 40, kSlots);
  const Day day = RunEagerly(requests);
  EXPECT_EQ(Tokens(RunEagerly(requests)), Tokens(day));
  EXPECT_GT(day.generated, 50);
  EXPECT_EQ(launches_, 73u);
}

TEST_F(DecodeLoopTest, ARequestSaysTheSameAloneAndInABatch) {
  const Request request = {0, {3, 1, 4, 1, 5}, 20, 0.0f};
  const Day alone = RunEagerly({request});
  const Day shared = RunEagerly({{0, {9, 2}, 30, 0.0f}, request, {3, {6, 5}, 9, 0.0f}});
  std::vector<int> said, said_shared;
  for (const StepRecord& step : alone.steps) {
    if (!step.picked.empty()) said.push_back(step.picked[0]);
  }
  for (size_t i = 4; i < 24; ++i) said_shared.push_back(shared.steps[i].picked[1]);
  EXPECT_EQ(said, said_shared);
  EXPECT_GT(std::set<int>(said.begin(), said.end()).size(), 3u) << "it says one thing only";
}

TEST_F(DecodeLoopTest, TheFirstTokenOfAPromptStillCountsAtItsEnd) {
  const Day a = RunEagerly({{0, {1, 7, 7, 7}, 10, 0.0f}});
  const Day b = RunEagerly({{0, {2, 7, 7, 7}, 10, 0.0f}});
  EXPECT_NE(Tokens(a), Tokens(b)) << "attention sees nothing of the past";
}

TEST_F(DecodeLoopTest, SampledTokensFollowTheGeneratorsSeed) {
  const std::vector<Request> requests = {{0, {1, 2}, 12, 0.9f}};
  const Day day = RunEagerly(requests, 5);
  EXPECT_EQ(Tokens(RunEagerly(requests, 5)), Tokens(day));
  EXPECT_NE(Tokens(RunEagerly(requests, 6)), Tokens(day));
}

TEST_F(DecodeLoopTest, ThroughATreeItSaysTheSame) {
  std::vector<Request> requests = MakeRequests(2, 60, kSlots);
  for (Request& request : requests) request.temperature = 0;
  const Day eager = RunEagerly(requests);
  auto executor = TreeExecutor::Create(*device_, *stream_, std::make_shared<Generator>(5), {});
  ASSERT_THAT(executor, IsOk());
  const auto day = RunDay(*stream_, *weights_, *inputs_, **executor, {requests, kSlots});
  ASSERT_THAT(day, IsOk());
  EXPECT_EQ(Tokens(*day), Tokens(eager));
  const TreeStats stats = (*executor)->tree().stats();
  EXPECT_EQ(stats.eager, 0u);
  EXPECT_GT(stats.replays, stats.calls / 2);
}

}  // namespace
}  // namespace graphtree::demo
