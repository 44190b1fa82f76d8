// The demo's figures and words, from days that were made up.
#include "tools/demo_model/report.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graphs/reason.h"
#include "gtest/gtest.h"
#include "tools/demo_model/comparison.h"
#include "tools/demo_model/decode_loop.h"
#include "tools/demo_model/executor.h"

namespace graphtree::demo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StepRecord Step(std::vector<ModelFunction> calls, double host_ns, bool replayed, int generated) {
  StepRecord step;
  step.calls = std::move(calls);
  step.host_ns = host_ns;
  step.whole_ns = 1e9;
  step.replayed = replayed;
  step.generated = generated;
  return step;
}

Comparison MadeUp() {
  constexpr ModelFunction kDecode = ModelFunction::kDecode, kGreedy = ModelFunction::kGreedy;
  Comparison comparison;
  comparison.device.name = "host";
  comparison.kernels = {70, 3, 4};
  comparison.eager.steps = {Step({kDecode}, 900, false, 9), Step({kDecode, kGreedy}, 300, false, 2),
                            Step({kDecode, kGreedy}, 200, false, 2),
                            Step({kDecode}, 100, false, 5)};
  comparison.tree.steps = {Step({kDecode}, 5000, false, 9), Step({kDecode, kGreedy}, 30, true, 2),
                           Step({kDecode, kGreedy}, 20, true, 2), Step({kDecode}, 10, true, 5)};
  comparison.stats.calls = 6;
  comparison.stats.replays = 5;
  comparison.stats.reasons[static_cast<size_t>(Reason::kStaticMoved)] = 4;
  return comparison;
}

TEST(SummaryTest, FiguresAreTakenOverTheStepsThatWereReplayed) {
  const Summary summary = Summarise(MadeUp());
  EXPECT_EQ(summary.replayed_steps, 3u);
  EXPECT_EQ(summary.eager.launches, 73);
  EXPECT_EQ(summary.tree.launches, 2);
  EXPECT_EQ(summary.eager.host_ns, 200);
  EXPECT_EQ(summary.tree.host_ns, 20);
  EXPECT_EQ(summary.host_ratio(), 10);
  EXPECT_EQ(summary.eager.tokens_per_second, 3);
  EXPECT_EQ(summary.other_host_ns, 5000);
}

TEST(SummaryTest, ADayWithoutAReplayHasNoFiguresAndNoFault) {
  Comparison comparison = MadeUp();
  for (StepRecord& step : comparison.tree.steps) step.replayed = false;
  EXPECT_EQ(Summarise(comparison).host_ratio(), 0);
  EXPECT_THAT(ReportText(comparison), HasSubstr("Medians over the 0 steps"));
  EXPECT_THAT(ReportJson(comparison), HasSubstr(R"("host_time_ratio":0)"));
}

TEST(ReportTest, SaysWhyCallsWereNotReplayed) {
  const std::string text = ReportText(MadeUp());
  EXPECT_THAT(text, HasSubstr("replayed 5 (83.3 %)"));
  EXPECT_THAT(text, HasSubstr("4 static_moved: a static input came at another address"));
  EXPECT_THAT(text, Not(HasSubstr("mutated_input")));
  EXPECT_THAT(text, HasSubstr("10.0x less"));
}

TEST(ReportTest, DifferentTokensCannotBeMissed) {
  Comparison comparison = MadeUp();
  EXPECT_THAT(ReportText(comparison), HasSubstr("Tokens: equal in all 4 steps"));
  EXPECT_THAT(ReportJson(comparison), HasSubstr(R"("tokens_equal":true)"));
  comparison.first_difference = 2;
  EXPECT_THAT(ReportText(comparison), HasSubstr("DIFFERENT from step 2 on"));
  EXPECT_THAT(ReportJson(comparison), HasSubstr(R"("tokens_equal":false)"));
}

TEST(ComparisonTest, TheFirstStepWhoseTokensDifferIsFound) {
  Day a, b;
  for (int i = 0; i < 5; ++i) {
    a.steps.emplace_back().picked = {i, 7};
    b.steps.emplace_back().picked = {i, 7};
  }
  EXPECT_EQ(FirstDifference(a, b), std::nullopt);
  b.steps[3].picked[1] = 8;
  EXPECT_EQ(FirstDifference(a, b), 3u);
  b.steps.resize(2);
  EXPECT_EQ(FirstDifference(a, b), 2u) << "one day is shorter";
}

}  // namespace
}  // namespace graphtree::demo
