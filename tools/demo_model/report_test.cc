// The demo's figures and words, from days that were made up.
#include "tools/demo_model/report.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
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
  EXPECT_THAT(ReportText(comparison), HasSubstr("No step was replayed whole"));
  EXPECT_THAT(ReportText(comparison), Not(HasSubstr("launches per step")));
  EXPECT_THAT(ReportJson(comparison), HasSubstr(R"("host_time_ratio":0)"));
}

TEST(ReportTest, SaysWhyCallsWereNotReplayed) {
  const std::string text = ReportText(MadeUp());
  EXPECT_THAT(text, HasSubstr("replayed 5 (83.3 %)"));
  EXPECT_THAT(text, HasSubstr("4 static_moved: a static input came at another address"));
  EXPECT_THAT(text, Not(HasSubstr("mutated_input")));
  EXPECT_THAT(text, HasSubstr("10.0x less"));
}

// Also where no option was given that makes others: warming up and recording are reasons, too.
TEST(ReportTest, WarmingUpAndRecordingAreReasons) {
  Comparison comparison = MadeUp();
  comparison.stats.reasons = {};
  comparison.stats.warm_ups = 22;
  comparison.stats.recordings = 20;
  const std::string text = ReportText(comparison);
  EXPECT_THAT(text, HasSubstr("    22 warm_up: a function's first call"));
  EXPECT_THAT(text, HasSubstr("    20 recording: nothing recorded matched"));
  EXPECT_THAT(ReportJson(comparison), HasSubstr(R"("reasons":{"warm_up":22,"recording":20})"));
}

TEST(ReportTest, ARatioSaysMoreOnlyWhereItIsMore) {
  Comparison comparison = MadeUp();
  EXPECT_THAT(ReportText(comparison), HasSubstr("      1.0x\n")) << "tokens per second";
  for (StepRecord& step : comparison.tree.steps) step.whole_ns *= 1.25;
  EXPECT_THAT(ReportText(comparison), HasSubstr("      0.8x\n"));
  for (StepRecord& step : comparison.tree.steps) step.whole_ns /= 2.5;
  EXPECT_THAT(ReportText(comparison), HasSubstr("      2.0x more\n"));
  for (StepRecord& step : comparison.tree.steps) step.generated = 0;
  for (StepRecord& step : comparison.eager.steps) step.generated = 0;
  EXPECT_THAT(ReportText(comparison), HasSubstr("           0            0\n")) << "no ratio";
}

TEST(ReportTest, OneIsNotCountedInThePlural) {
  Comparison comparison = MadeUp();
  comparison.requests = 1;
  comparison.eager.generated = 1;
  EXPECT_THAT(ReportText(comparison), HasSubstr("decodes for 1 request: 1 token in 4 steps,\n"));
  comparison.requests = 2;
  comparison.eager.generated = 30;
  EXPECT_THAT(ReportText(comparison), HasSubstr("The tree (0 recordings):"));
  EXPECT_THAT(ReportText(comparison), HasSubstr("for 2 requests: 30 tokens in 4 steps,\n"));
}

// With the longest sentences, the largest figures and the name of a real device.
TEST(ReportTest, NoLineIsWiderThanATerminal) {
  Comparison comparison = MadeUp();
  comparison.device.name = "cuda:15";
  comparison.device.model = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition";
  comparison.model_bytes = comparison.stats.pool_reserved_bytes = uint64_t{200} << 30;
  comparison.stats.pool_live_bytes = comparison.stats.executable_bytes = uint64_t{100} << 30;
  comparison.stats.reasons.fill(123456);
  for (StepRecord& step : comparison.tree.steps) step.host_ns *= 1e6;
  for (const absl::string_view line : absl::StrSplit(ReportText(comparison), '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
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
