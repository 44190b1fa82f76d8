// Statistics, goals, the way batches alternate, verdicts, and both outputs.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/benching/goal.h"
#include "tools/benching/report.h"
#include "tools/benching/row.h"
#include "tools/benching/statistics.h"
#include "tools/benching/timing.h"

namespace graphtree::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatisticsTest, PercentilesInterpolate) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Percentile({10, 20}, 0), 10);
  EXPECT_EQ(Percentile({10, 20}, 1), 20);
  EXPECT_EQ(Percentile({0, 10, 20, 30, 40}, 0.9), 36);
  EXPECT_EQ(Spread({1, 2, 3, 4, 5}), 2.0 / 3.0);
  EXPECT_EQ(Spread({0, 0}), 0);
}

TEST(StatisticsDeathTest, NoSamplesIsABug) {
  EXPECT_DEATH(Median({}), "0 samples");
  EXPECT_DEATH(Percentile({1}, 1.5), "share 1.5");
}

bool Met(const std::string& text, double ours, std::optional<double> baseline) {
  return Goal::Parse(text, "ns").value().Met(ours, baseline);
}

TEST(GoalTest, JudgesRatioDifferenceAndValue) {
  EXPECT_TRUE(Met("ratio <= 1.2", 120, 100));
  EXPECT_FALSE(Met("ratio <= 1.2", 121, 100));
  EXPECT_TRUE(Met("ratio >= 2", 200, 100));
  EXPECT_TRUE(Met("difference <= 30 ns", 130, 100));
  EXPECT_FALSE(Met("difference < 30 ns", 130, 100));
  EXPECT_TRUE(Met("value <= 2 us", 2000, std::nullopt));
  EXPECT_FALSE(Met("value > 2 us", 2000, std::nullopt));
}

TEST(GoalTest, UnitsAreTurnedIntoTheRows) {
  EXPECT_TRUE(Goal::Parse("value <= 1 KiB", "B")->Met(1024, {}));
  EXPECT_TRUE(Goal::Parse("value <= 500 ns", "us")->Met(0.5, {}));
  EXPECT_TRUE(Goal::Parse("value <= 3 calls", "calls")->Met(3, {}));
  EXPECT_TRUE(Goal::Parse("value <= 3", "")->Met(3, {}));
}

TEST(GoalTest, RefusesWhatItCannotRead) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"fast", "write it like"},
      {"speed <= 3 ns", "ratio, difference or value"},
      {"value = 3 ns", "the relation must be"},
      {"value <= x ns", "the limit is not a number"},
      {"value <= inf ns", "the limit is not a number"},
      {"value <= 3", "no unit"},
      {"value <= 3 B", "the units do not fit"},
      {"value <= 3 calls", "the units do not fit"},
      {"ratio <= 3 ns", "a ratio has no unit"},
      {"value <= 3 ns more", "write it like"},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_THAT(Goal::Parse(text, "ns"), FailsWith(absl::StatusCode::kInvalidArgument, why))
        << text;
  }
}

TEST(FormatValueTest, PicksTheUnitThatKeepsItShort) {
  EXPECT_EQ(FormatValue(0, "ns"), "0 ns");
  EXPECT_EQ(FormatValue(0.123, "ns"), "0.12 ns");
  EXPECT_EQ(FormatValue(12.34, "ns"), "12.3 ns");
  EXPECT_EQ(FormatValue(999, "ns"), "999 ns");
  EXPECT_EQ(FormatValue(1234, "ns"), "1.23 us");
  EXPECT_EQ(FormatValue(2.5e9, "ns"), "2.50 s");
  EXPECT_EQ(FormatValue(0.5, "ms"), "500 us");
  EXPECT_EQ(FormatValue(3 << 20, "B"), "3.00 MiB");
  EXPECT_EQ(FormatValue(-1500, "ns"), "-1.50 us");
  EXPECT_EQ(FormatValue(42, "calls"), "42.0 calls");
  EXPECT_EQ(FormatValue(7, ""), "7.00");
}

// A side whose calls take a fixed time on a clock of its own, and that writes down its batches.
BatchTimer FakeSide(char letter, double ns_for_each_call, std::string* order) {
  return [=](int64_t calls) {
    *order += letter;
    return ns_for_each_call * static_cast<double>(calls);
  };
}

TEST(TimingTest, SidesAlternateAndSwapTheirOrder) {
  std::string order;
  const Measurement pair = CompareBatches(FakeSide('o', 1000, &order), FakeSide('b', 500, &order),
                                          {.batches = 4, .batch_ns = 1000, .warm_up_batches = 0});
  EXPECT_THAT(order, ::testing::EndsWith("obboobbo"));
  EXPECT_EQ(pair.ours, 1000);
  EXPECT_EQ(pair.baseline, 500);
  EXPECT_EQ(pair.spread, 0);
}

TEST(TimingTest, BatchesGrowToTheWishedTimeAndNoFurtherThanAllowed) {
  int64_t last = 0;
  const BatchTimer side = [&](int64_t calls) {
    last = calls;
    return 10.0 * static_cast<double>(calls);
  };
  MeasureBatches(side, {.batches = 1, .batch_ns = 100'000});
  EXPECT_EQ(last, 10'000);
  MeasureBatches(side, {.batches = 1, .batch_ns = 100'000, .most_calls = 64});
  EXPECT_EQ(last, 64);
}

TEST(TimingTest, ASlowCallIsRunAloneInItsBatch) {
  int64_t most = 0;
  const BatchTimer side = [&](int64_t calls) {
    most = std::max(most, calls);
    return 1e9 * static_cast<double>(calls);
  };
  EXPECT_EQ(MeasureBatches(side, {.batches = 3}).ours, 1e9);
  EXPECT_EQ(most, 1);
}

TEST(TimingTest, BetweenRunsBeforeEveryBatchAndAfterTheLast) {
  std::string order;
  const TimingOptions options = {
      .batches = 2, .batch_ns = 1, .warm_up_batches = 0, .between = [&] { order += '-'; }};
  MeasureBatches(FakeSide('o', 10, &order), options);
  EXPECT_EQ(order, "-o-o-o-");
}

TEST(TimingTest, RealCallsAreTimed) {
  int calls = 0;
  const auto call = [&] { DoNotOptimize(++calls); };
  const Measurement pair = ComparePair(call, call, {.batches = 5, .batch_ns = 1000});
  EXPECT_GT(calls, 10);
  EXPECT_GT(pair.ours, 0);
  EXPECT_GT(*pair.baseline, 0);
}

Result Judge(RowSpec spec, Outcome outcome) {
  return RunRow({std::move(spec), [=] { return outcome; }});
}

const RowSpec kPair = {
    .name = "a.pair", .ours = "with", .against = "without", .goal = "difference <= 30 ns"};

TEST(RunRowTest, EveryWayThatARowCanEnd) {
  EXPECT_EQ(Judge(kPair, Measurement{.ours = 130, .baseline = 100}).verdict, Verdict::kMet);
  EXPECT_EQ(Judge(kPair, Measurement{.ours = 131, .baseline = 100}).verdict, Verdict::kMissed);
  EXPECT_EQ(Judge(kPair, Skipped("needs a GPU: none")).verdict, Verdict::kSkipped);
  EXPECT_EQ(Judge(kPair, absl::InternalError("broke")).reason, "broke");
  EXPECT_EQ(Judge(kPair, Measurement{.ours = 130}).verdict, Verdict::kFailed);
  EXPECT_EQ(Judge({.name = "b", .ours = "x"}, Measurement{.ours = 1}).verdict, Verdict::kNoGoal);
  EXPECT_EQ(Judge({.name = "b", .ours = "x"}, Measurement{.ours = 1, .baseline = 2}).verdict,
            Verdict::kFailed);
  EXPECT_EQ(Judge(kPair, absl::OkStatus()).reason, "the row returned no numbers");
}

TEST(ReportTest, TableHasOneLineForEachRowAndSaysWhatIsMissing) {
  const std::string table = Table({
      Judge(kPair, Measurement{.ours = 1300, .baseline = 1000, .spread = 0.5}),
      Judge({.name = "b", .ours = "x", .goal = "value <= 1 ns"}, Skipped("needs a GPU: none")),
  });
  EXPECT_EQ(table,
            "row        ours  baseline  ratio  goal                 met      what\n"
            "a.pair  1.30 us   1.00 us    1.3  difference <= 30 ns  MISSED   with, against without "
            "(noisy: the middle half spreads over 50 %)\n"
            "b             -         -      -  value <= 1 ns        skipped  needs a GPU: none\n");
}

TEST(ReportTest, JsonHasOneRowOnEachLine) {
  const std::string json =
      Json({Judge(kPair, Measurement{.ours = 130, .baseline = 100}),
            Judge(kPair, Skipped("no GPU")), Judge(kPair, absl::InternalError("broke"))});
  EXPECT_THAT(json, HasSubstr("{\"rows\":[\n{\"name\":\"a.pair\",\"ours_is\":\"with\","
                              "\"baseline_is\":\"without\",\"unit\":\"ns\",\"ours\":130,"
                              "\"baseline\":100,\"ratio\":1.3,\"difference\":30,\"spread\":0,"
                              "\"goal\":\"difference <= 30 ns\",\"met\":true,\"skipped\":null,"
                              "\"failed\":null},\n{"));
  EXPECT_THAT(json, HasSubstr("\"met\":null,\"skipped\":\"no GPU\",\"failed\":null}"));
  EXPECT_THAT(json, HasSubstr("\"met\":null,\"skipped\":null,\"failed\":\"broke\"}\n]}\n"));
  EXPECT_THAT(Json({}), HasSubstr("{\"rows\":["));
}

TEST(ReportTest, CountsVerdicts) {
  EXPECT_EQ(Count({Judge(kPair, Measurement{.ours = 1, .baseline = 1}),
                   Judge(kPair, Skipped("no GPU")), Judge(kPair, absl::InternalError("x"))}),
            "1 met, 0 missed, 0 without goal, 1 skipped, 1 failed");
}

GRAPHTREE_ROW(Second, {.name = "z.second", .ours = "nothing"}) { return Skipped("a test's row"); }
GRAPHTREE_ROW(First, {.name = "a.first", .ours = "one", .goal = "value <= 1 ns"}) {
  return Measurement{.ours = 1};
}

TEST(RegistryTest, RowsRegisterThemselvesAndAreSorted) {
  const std::vector<Row> rows = RegisteredRows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].spec.name, "a.first");
  EXPECT_EQ(RunRow(rows[0]).verdict, Verdict::kMet);
  EXPECT_EQ(RunRow(rows[1]).reason, "a test's row");
}

TEST(RegistryDeathTest, ARowThatCannotBeJudgedIsABug) {
  const RowBody body = [] { return Skipped("never runs"); };
  EXPECT_DEATH(RegisterRow({.name = "a.first", .ours = "x"}, body), "two rows are called a.first");
  EXPECT_DEATH(RegisterRow({.name = "c", .ours = "x", .goal = "be fast"}, body), "c: goal");
  EXPECT_DEATH(RegisterRow({.name = "c", .ours = "x", .goal = "ratio <= 1"}, body),
               "needs something to be held against");
}

}  // namespace
}  // namespace graphtree::bench
