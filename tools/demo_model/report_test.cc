// The demo's figures and words, from days that were made up.
#include "tools/demo_model/report.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/why.h"
#include "tools/demo_model/comparison.h"
#include "tools/demo_model/day.h"
#include "tools/demo_model/kernels/dims.h"
#include "tools/demo_model/ladder.h"
#include "tools/demo_model/runtime_way.h"

namespace graphtree::demo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StepRecord Step(double host_ns, std::optional<Why> why, int submissions) {
  StepRecord step;
  step.tokens = step.requests = 2;
  step.padded_tokens = 4;
  step.numbers = {0, 1};
  step.picked = {5, 6};
  step.host_ns = host_ns;
  step.whole_ns = 1e9;
  step.why = why;
  step.is_replay = why.has_value() && IsReplay(*why);
  step.submissions = submissions;
  if (why.has_value() && !step.is_replay) {
    step.description = std::string(WhyName(*why)) + ", tokens=2 where the largest is 1: " +
                       WhySentence(*why);
  }
  return step;
}

// Four steps of two tokens; graphtree replays the last two.
Comparison MadeUp() {
  Comparison comparison;
  comparison.device.name = "cuda:0";
  comparison.requests = {{.prompt = 2, .output = 4}, {.prompt = 2, .output = 4, .temperature = 1}};
  comparison.most_requests = 2;
  comparison.budget_bytes = kDefaultBudget;
  comparison.ladder = LadderUnder(kDefaultBudget, 2);
  const std::vector<Why> whys = {Why::kWarmingUp, Why::kAboveCeiling, Why::kHit, Why::kCover};
  for (int way = 0; way < kWays; ++way) {
    Day& day = comparison.days[way];
    for (int i = 0; i < 4; ++i) {
      const std::optional<Why> why =
          way == kGraphtree ? std::optional<Why>(whys[i]) : std::nullopt;
      day.steps.push_back(Step(1000.0 * (i + 1) / (way + 1), why, 79 / (way + 1)));
    }
    day.generated = 8;
    day.serving_ns = 4e9;
    day.first_token_ns = 2e6;
  }
  comparison.runtime.why[static_cast<size_t>(Why::kHit)] = 1;
  comparison.runtime.why[static_cast<size_t>(Why::kCover)] = 1;
  return comparison;
}

TEST(FiguresTest, MediansAreOverReplayedStepsAndAllElseIsOverTheDay) {
  Comparison comparison = MadeUp();
  comparison.days[kGraphtree].steps[1].whole_ns = 7e9;
  const Figures ours = FiguresOf(comparison, kGraphtree);
  EXPECT_EQ(ours.replays, 2u);
  EXPECT_EQ(ours.tokens_per_second, 2);
  EXPECT_NEAR(ours.host_ns, 4000.0 / 3, 1e-6);
  EXPECT_EQ(ours.whole_ns, 1e9);
  EXPECT_EQ(ours.slowest_ns, 7e9);
  EXPECT_EQ(ours.submissions, 26);
  EXPECT_EQ(ours.padding, 0.5);
  EXPECT_EQ(FiguresOf(comparison, kEager).host_ns, 4000) << "over other steps";
}

TEST(FiguresTest, ADayWithoutAReplayHasFiguresAndNoFault) {
  Comparison comparison = MadeUp();
  for (StepRecord& step : comparison.days[kGraphtree].steps) step.is_replay = false;
  EXPECT_EQ(FiguresOf(comparison, kEager).host_ns, 3000);
  EXPECT_THAT(ReportText(comparison), HasSubstr("graphtree replayed 0 of 4 steps"));
  EXPECT_EQ(FiguresOf(Comparison(), kEager).tokens_per_second, 0);
}

TEST(FiguresTest, EveryStepThatWasNoReplayHasItsReason) {
  const std::vector<Reasons> reasons = ReasonsOf(MadeUp().days[kGraphtree]);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0].why, Why::kAboveCeiling);
  EXPECT_EQ(reasons[0].steps, (std::vector<size_t>{1}));
  EXPECT_EQ(reasons[1].why, Why::kWarmingUp);
  EXPECT_EQ(reasons[1].steps, (std::vector<size_t>{0}));
}

TEST(ReportTest, SaysWhyStepsWereNotReplayed) {
  const std::string text = ReportText(MadeUp());
  EXPECT_THAT(text, HasSubstr("graphtree replayed 2 of 4 steps: 1 with a shape of exactly"));
  EXPECT_THAT(text, HasSubstr("       1  above_ceiling: it is larger than every shape"));
  EXPECT_THAT(text, Not(HasSubstr("Steps 1.")));
  EXPECT_THAT(text, HasSubstr("          Step 1, decode: tokens=2 where the largest is 1.\n"));
  EXPECT_THAT(text, Not(HasSubstr("not_recorded")));
}

TEST(ReportTest, StepsOfOneReasonAreListedTogether) {
  Comparison comparison = MadeUp();
  Day& day = comparison.days[kGraphtree];
  for (int i = 0; i < 3; ++i) day.steps.push_back(Step(1, Why::kAboveCeiling, 1));
  EXPECT_THAT(ReportText(comparison), HasSubstr("       4  above_ceiling: "));
  EXPECT_THAT(ReportText(comparison), HasSubstr("          Steps 1, 4-6.\n"
                                                "          For example step 1, decode: tokens=2"));
}

TEST(ReportTest, HostTimeIsLessOnlyWhereItIs) {
  Comparison comparison = MadeUp();
  EXPECT_THAT(ReportText(comparison),
              HasSubstr("3.0 times less than eager, 1.5 times less\n  than the"));
  for (StepRecord& step : comparison.days[kGraphtree].steps) step.host_ns *= 6;
  EXPECT_THAT(ReportText(comparison),
              HasSubstr("2.0 times more than eager, 4.0 times more\n  than the"));
  for (StepRecord& step : comparison.days[kGraphtree].steps) step.host_ns /= 2;
  EXPECT_THAT(ReportText(comparison), HasSubstr("as much as eager"));
}

TEST(ReportTest, SaysHowSoonShapesWereReady) {
  Comparison comparison = MadeUp();
  EXPECT_THAT(ReportText(comparison), Not(HasSubstr("had their graphs")));
  comparison.recorded = Recorded{.ready = {0.25, 0.25, 0.5, 0.75}, .estimate = {}};
  EXPECT_THAT(ReportText(comparison),
              HasSubstr("75 % had their graphs in the end: half of all after 3 steps.\n"));
  comparison.recorded->ready.push_back(1);
  EXPECT_THAT(ReportText(comparison), HasSubstr("after 3 steps,\n  all after 5 steps.\n"));
  comparison.recorded->ready = {0.25};
  EXPECT_THAT(ReportText(comparison), HasSubstr("25 % had their graphs in the end.\n"));
  comparison.records_ahead = true;
  EXPECT_THAT(ReportText(comparison), Not(HasSubstr("had their graphs")));
}

TEST(ReportTest, ADayOfReplaysHasNoReasons) {
  Comparison comparison = MadeUp();
  for (StepRecord& step : comparison.days[kGraphtree].steps) {
    step.is_replay = true;
    step.why = Why::kHit;
  }
  EXPECT_THAT(ReportText(comparison), HasSubstr("No step ran otherwise."));
  EXPECT_THAT(ReportJson(comparison), HasSubstr(R"("not_replayed":[])"));
}

TEST(ReportTest, TheSameStandsInTheJson) {
  const std::string json = ReportJson(MadeUp());
  EXPECT_THAT(json, HasSubstr(R"("day":{"requests":2,"sampled_requests":1,)"));
  EXPECT_THAT(json, HasSubstr(R"("ways":{"eager":{"tokens_per_second":2,)"));
  EXPECT_THAT(json, HasSubstr(R"("submissions_per_step":26)"));
  EXPECT_THAT(json, HasSubstr(R"("why":"above_ceiling","sentence":"it is larger than)"));
  EXPECT_THAT(json, HasSubstr(R"("count":1,"steps":[{"step":1,"program":"decode","tokens":2,)"));
  EXPECT_THAT(json, HasSubstr(R"("shapes":[{"program":"decode","tokens":2,"requests":2,)"));
}

TEST(ReportTest, StepsInARowAreOneRange) {
  EXPECT_EQ(Ranges({}), "");
  EXPECT_EQ(Ranges({4}), "4");
  EXPECT_EQ(Ranges({0, 1, 2, 3, 7, 9, 10}), "0-3, 7, 9-10");
}

TEST(ReportTest, OneIsNotCountedInThePlural) {
  Comparison comparison = MadeUp();
  comparison.requests.resize(1);
  comparison.days[kEager].generated = 1;
  EXPECT_THAT(ReportText(comparison), HasSubstr("Day: 1 request, 0 of which draw their tokens"));
  EXPECT_THAT(ReportText(comparison), HasSubstr("; 1 token in 4 steps,"));
}

// With every reason, the longest lists, the largest figures and the name of a real device.
TEST(ReportTest, NoLineIsWiderThanATerminal) {
  Comparison comparison = MadeUp();
  comparison.device.name = "cuda:15";
  comparison.device.model = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition";
  comparison.weight_bytes = comparison.cache_bytes = uint64_t{200} << 30;
  comparison.ladder = LadderUnder(uint64_t{1} << 30, kMostRequests);
  Day& day = comparison.days[kGraphtree];
  for (int i = 0; i < 400; ++i) {
    day.steps.push_back(Step(1e12, static_cast<Why>(i * 7 % kWhyCount), 1'000'000));
  }
  for (Day& each : comparison.days) {
    each.first_token_ns = 9e12;
    each.graphs = {123'456, uint64_t{100} << 30};
    each.generated = 2'000'000'000;
  }
  comparison.differences[kEngine] = Difference{1'000'000, 999'999, 511, 511};
  for (const absl::string_view line : absl::StrSplit(ReportText(comparison), '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(ReportTest, DifferentTokensCannotBeMissed) {
  Comparison comparison = MadeUp();
  EXPECT_THAT(ReportText(comparison), HasSubstr("Tokens: 8, equal in all three ways."));
  EXPECT_THAT(ReportJson(comparison), HasSubstr(R"("tokens_equal":true,"differences":[])"));
  comparison.differences[kGraphtree] = Difference{2, 1, 6, 7};
  EXPECT_THAT(ReportText(comparison), HasSubstr("Tokens: DIFFERENT, graphtree from step 2 on:\n"
                                                "  request 1 got token 7, and 6 from eager.\n"));
  EXPECT_THAT(ReportText(comparison), Not(HasSubstr("equal in all")));
  EXPECT_THAT(ReportJson(comparison),
              HasSubstr(R"("differences":[{"way":"graphtree","step":2,"request":1,"token":7,)"));
}

TEST(ComparisonTest, TheFirstStepWhoseTokensDifferIsFound) {
  const Comparison comparison = MadeUp();
  const Day& a = comparison.days[kEager];
  Day b = a;
  EXPECT_FALSE(FirstDifference(a, b).has_value());
  b.steps[3].picked[1] = 8;
  const std::optional<Difference> difference = FirstDifference(a, b);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->step, 3u);
  EXPECT_EQ(difference->request, 1);
  EXPECT_EQ(difference->token, 8);
  EXPECT_EQ(difference->eager_token, 6);
  b.steps[2].numbers = {0, 7};
  EXPECT_EQ(FirstDifference(a, b)->step, 2u) << "other requests";
  b.steps.resize(2);
  EXPECT_EQ(FirstDifference(a, b)->step, 2u) << "one day is shorter";
}

}  // namespace
}  // namespace graphtree::demo
