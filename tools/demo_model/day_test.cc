// A day on the host device: the same tokens whichever way it is served, and tokens that depend on
// what they should depend on.
#include "tools/demo_model/day.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "graphs/launcher.h"
#include "gtest/gtest.h"
#include "tools/demo_model/eager_way.h"
#include "tools/demo_model/engine_way.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/ladder.h"
#include "tools/demo_model/model.h"
#include "tools/demo_model/runtime_way.h"

namespace graphtree::demo {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBudget = 4 << 20;

class DayTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = OpenHostDevice();
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    stream_ = *device_->NewStream();
    weights_ = *Weights::Load(*device_, *stream_, 1);
    memory_ = *DeviceBlock::Map(*device_, 2 * kStepArenaBytes);
  }
  void TearDown() override {
    memory_.reset();
    weights_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }

  Day Run(const std::vector<Request>& requests, const WayMaker& make, int most) {
    DayOptions options = {requests, most};
    options.at_the_end = [this](Way& way) {
      if (auto* runtime = dynamic_cast<RuntimeWay*>(&way)) stats_ = runtime->runtime().stats();
      return absl::OkStatus();
    };
    auto day = RunDay(*stream_, *weights_, make, options);
    EXPECT_THAT(day, IsOk());
    return day.ok() ? *std::move(day) : Day();
  }
  Day Eager(const std::vector<Request>& requests, int most = kMostRequests) {
    return Run(
        requests,
        [&] { return EagerWay::Create(*device_, *stream_, *weights_, memory_->range()); }, most);
  }
  Day Engine(const std::vector<Request>& requests, uint64_t budget = kBudget,
             int most = kMostRequests) {
    const std::vector<Rung> ladder = LadderUnder(budget, most);
    return Run(
        requests,
        [&] { return EngineWay::Create(*device_, *stream_, *weights_, memory_->range(), ladder); },
        most);
  }
  Day OnRuntime(const std::vector<Request>& requests, uint64_t budget = kBudget,
                int most = kMostRequests, bool records_ahead = false) {
    const RuntimeWayOptions options = {LadderUnder(budget, most), budget, records_ahead};
    return Run(
        requests, [&] { return RuntimeWay::Create(*device_, *stream_, *weights_, options); }, most);
  }

  uint64_t Count(Why why) const { return stats_.why[static_cast<size_t>(why)]; }

  static std::vector<std::vector<int>> Tokens(const Day& day) {
    std::vector<std::vector<int>> tokens;
    for (const StepRecord& step : day.steps) tokens.push_back(step.picked);
    return tokens;
  }
  // What one request got, in order.
  static std::vector<int> TokensOf(const Day& day, int number) {
    std::vector<int> tokens;
    for (const StepRecord& step : day.steps) {
      const auto at = std::find(step.numbers.begin(), step.numbers.end(), number);
      if (at != step.numbers.end()) tokens.push_back(step.picked[at - step.numbers.begin()]);
    }
    return tokens;
  }
  static size_t Replays(const Day& day) {
    return std::count_if(day.steps.begin(), day.steps.end(),
                         [](const StepRecord& step) { return step.is_replay; });
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<DeviceBlock> memory_;  // for the ways without a pool
  RuntimeStats stats_;  // of the last day on the runtime
};

TEST_F(DayTest, TheSameDayGivesTheSameTokens) {
  const std::vector<Request> requests = MakeTrace(1, 40, kMostRequests);
  const Day day = Eager(requests);
  EXPECT_EQ(Tokens(Eager(requests)), Tokens(day));
  EXPECT_GT(day.generated, 50);
  EXPECT_GT(day.first_token_ns, day.start_ns);
}

// Its cache lies elsewhere then, in blocks that others have had.
TEST_F(DayTest, ARequestGetsTheSameAloneAndInADay) {
  const std::vector<Request> requests = MakeTrace(2, 120, kMostRequests);
  const Day day = Eager(requests);
  std::set<int> said;
  for (int number = 0; number < static_cast<int>(requests.size()); number += 7) {
    Request alone = requests[number];
    alone.arrival = 0;
    const std::vector<int> tokens = TokensOf(Eager({alone}), 0);
    EXPECT_EQ(tokens, TokensOf(day, number)) << "request " << number;
    said.insert(tokens.begin(), tokens.end());
  }
  EXPECT_GT(said.size(), 10u) << "it says one thing only";
}

TEST_F(DayTest, ThePromptsFirstTokenCounts) {
  const Request request = {.prompt = 4, .output = 10, .seed = 1};
  std::set<std::vector<std::vector<int>>> days;
  for (int64_t seed : {1, 2, 3}) {
    Request other = request;
    other.seed = seed;
    days.insert(Tokens(Eager({other})));
  }
  EXPECT_EQ(days.size(), 3u);
}

TEST_F(DayTest, SampledTokensAreOtherOnesThanGreedyOnes) {
  Request request = {.prompt = 4, .output = 12, .seed = 9};
  const Day greedy = Eager({request});
  request.temperature = 0.9f;
  EXPECT_NE(Tokens(Eager({request})), Tokens(greedy));
  EXPECT_EQ(Tokens(Eager({request})), Tokens(Eager({request})));
}

TEST_F(DayTest, EveryWaySaysTheSameUnderEveryBudget) {
  for (int most : {1, 5, kMostRequests}) {
    const std::vector<Request> requests = MakeTrace(most, 60, most);
    const std::vector<std::vector<int>> tokens = Tokens(Eager(requests, most));
    for (uint64_t rungs : {1, 2, 5, 100}) {
      const uint64_t budget = rungs * RungBytes();
      EXPECT_EQ(Tokens(Engine(requests, budget, most)), tokens) << most << ", " << rungs;
      EXPECT_EQ(Tokens(OnRuntime(requests, budget, most)), tokens) << most << ", " << rungs;
    }
  }
}

TEST_F(DayTest, TheRuntimeReplaysAndSaysWhyItDoesNot) {
  const std::vector<Request> requests = MakeTrace(1, 150, kMostRequests);
  const Day day = OnRuntime(requests);
  EXPECT_GT(Replays(day), day.steps.size() * 2 / 3);
  EXPECT_EQ(Replays(day), Count(Why::kHit) + Count(Why::kCover));
  EXPECT_GT(Count(Why::kHit), 0u);
  EXPECT_GT(Count(Why::kCover), 0u);
  EXPECT_EQ(Count(Why::kNotRecorded), stats_.recordings);
  EXPECT_GT(stats_.recordings, 5u);
  EXPECT_EQ(stats_.steps, day.steps.size());
  for (const StepRecord& step : day.steps) {
    ASSERT_TRUE(step.why.has_value());
    EXPECT_EQ(step.is_replay, IsReplay(*step.why));
    EXPECT_EQ(step.submissions == 1, step.is_replay);
    EXPECT_EQ(step.description.empty(), step.is_replay);
  }
  EXPECT_LE(day.graphs.bytes, kBudget);
  EXPECT_EQ(day.graphs.count, stats_.recordings) << "what was planned did not fit";
}

TEST_F(DayTest, RecordedAheadEveryStepThatHasAShapeIsAReplay) {
  const std::vector<Request> requests = MakeTrace(1, 60, kMostRequests);
  const Day day = OnRuntime(requests, kBudget, kMostRequests, /*records_ahead=*/true);
  EXPECT_EQ(Tokens(day), Tokens(Eager(requests)));
  EXPECT_EQ(Count(Why::kWarmingUp), 0u);
  EXPECT_EQ(Count(Why::kNotRecorded), 0u);
  EXPECT_EQ(day.steps.size(), Replays(day) + Count(Why::kAboveCeiling));
}

TEST_F(DayTest, RecordedBetweenStepsTheTokensAreEqual) {
  const std::vector<Request> requests = MakeTrace(1, 60, kMostRequests);
  const RuntimeWayOptions options = {.ladder = LadderUnder(kBudget, kMostRequests),
                                     .budget_bytes = kBudget,
                                     .records_idle = true};
  const Day day = Run(
      requests, [&] { return RuntimeWay::Create(*device_, *stream_, *weights_, options); },
      kMostRequests);
  EXPECT_EQ(Tokens(day), Tokens(Eager(requests)));
  EXPECT_EQ(Count(Why::kWarmingUp), 0u);
  EXPECT_GT(Count(Why::kNotRecorded), 0u);
  EXPECT_GT(Replays(day), day.steps.size() / 3);
}

TEST_F(DayTest, APromptAboveTheLadderRunsEagerlyAndSaysSo) {
  const std::vector<Request> requests = {{.prompt = kPrefillTokens + 1, .output = 2, .seed = 3}};
  const Day day = OnRuntime(requests);
  ASSERT_EQ(day.steps.size(), 2u);
  EXPECT_EQ(day.steps[0].why, Why::kAboveCeiling);
  EXPECT_THAT(day.steps[0].description, HasSubstr("129"));
  EXPECT_EQ(Tokens(day), Tokens(Eager(requests)));
}

TEST_F(DayTest, AnEnginesGraphsAreThereAtTheStart) {
  const std::vector<Request> requests = MakeTrace(3, 40, kMostRequests);
  const Day day = Engine(requests);
  EXPECT_GT(day.graphs.count, 5u);
  EXPECT_LE(day.graphs.bytes, kBudget);
  EXPECT_GT(Replays(day), day.steps.size() * 9 / 10);
  EXPECT_TRUE(day.steps[0].is_replay);
}

class LaunchCounter : public AccessObserver {
 public:
  void Accessed(Access, const Tensor&, int) override {}
  void Launched(const Kernel&, const LaunchShape&, Arguments) override { ++launches; }
  int launches = 0;
};

TEST_F(DayTest, TheModelLaunchesSoManyKernelsAsItSays) {
  const BatchPiece piece;
  auto inputs = DeviceBlock::Map(*device_, piece.bytes());
  ASSERT_THAT(inputs, IsOk());
  ASSERT_THAT(stream_->Fill((*inputs)->range().base, 0, 1, (*inputs)->range().bytes), IsOk());
  StepArena arena({memory_->range().base, kStepArenaBytes});
  LaunchCounter counter;
  Launcher on(*stream_, arena, &counter);
  const StepSizes sizes = {kMostTokens, kMostRequests, kPositions};
  const BatchTensors batch = piece.At((*inputs)->range().base, sizes.tokens, sizes.requests);
  {
    const Prepared prepared = EmptyPrepared(on, sizes);
    Prepare(on, batch, sizes, prepared);
    EXPECT_EQ(counter.launches, kPrepareLaunches);
    const Tensor hidden = RunLayers(on, weights_->model(), batch, prepared, sizes);
    EXPECT_EQ(counter.launches, kPrepareLaunches + kLayerLaunches);
    PickTokens(on, weights_->model(), batch, prepared, sizes, hidden);
    EXPECT_EQ(counter.launches, kStepLaunches);
  }
  EXPECT_THAT(on.status(), IsOk()) << "the largest step does not fit into an arena";
  EXPECT_THAT(stream_->Synchronize(), IsOk());
}

}  // namespace
}  // namespace graphtree::demo
