// Figures of the sample trace by hand, as rows, as a table and as JSON; and while a trace is made.
#include "profiler/stats/figures.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/stats/live_figures.h"
#include "profiler/stats/trace_statistics.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {
namespace {

using ::testing::HasSubstr;

// "function decode", "node decode", "op attend"; null if there is none.
const FigureRow* Find(const std::vector<FigureRow>& rows, FigureLevel level,
                      const std::string& name) {
  for (const FigureRow& row : rows) {
    if (row.level != level) continue;
    if ((level == FigureLevel::kOp ? row.op : row.function) == name) return &row;
  }
  return nullptr;
}

std::vector<FigureRow> OfSample(uint64_t limit) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  PlaySample(tables, statistics);
  return FiguresOf(statistics, limit);
}

TEST(FiguresTest, SampleByHand) {
  const std::vector<FigureRow> rows = OfSample(/*limit=*/4'000'000'000);
  const FigureRow* const op = Find(rows, FigureLevel::kOp, "attend");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->function, "decode");
  EXPECT_EQ(op->tree_node, 5);
  EXPECT_EQ(op->count, 2u);
  EXPECT_EQ(op->min_ns, 3000);
  EXPECT_EQ(op->mean_ns, 6000);
  EXPECT_DOUBLE_EQ(op->bytes_per_second, 2 * 8192 / 12000.0 * 1e9);
  EXPECT_DOUBLE_EQ(op->share_of_limit, op->bytes_per_second / 4e9);
  for (const FigureLevel level : {FigureLevel::kNode, FigureLevel::kFunction}) {
    const FigureRow* const replays = Find(rows, level, "decode");
    ASSERT_NE(replays, nullptr);
    EXPECT_EQ(replays->count, 2u);
    EXPECT_EQ(replays->min_ns, 4500);
    EXPECT_EQ(replays->mean_ns, 7500);
    EXPECT_EQ(replays->gap_ns, 500);
    EXPECT_GT(replays->latency_ns, 0);
    EXPECT_GT(replays->bytes_per_second, 0);
    EXPECT_EQ(replays->tree_node, level == FigureLevel::kNode ? 5 : kUnknown);
  }
  EXPECT_EQ(OfSample(0).front().share_of_limit, 0);
}

TEST(FiguresTest, LevelsInTheirOrderAndMostTimeFirst) {
  const std::vector<FigureRow> rows = OfSample(0);
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i - 1].level, rows[i].level);
    if (rows[i - 1].level != rows[i].level) continue;
    EXPECT_GE(rows[i - 1].sum_ns, rows[i].sum_ns);
  }
}

TEST(FiguresTest, ATableAndJson) {
  const std::vector<FigureRow> rows = OfSample(4'000'000'000);
  const std::string text = FiguresText(rows, 10);
  EXPECT_THAT(text, HasSubstr("attend of decode, node 5"));
  EXPECT_THAT(text, HasSubstr("GB/s"));
  EXPECT_THAT(FiguresText(rows, 1), HasSubstr("more"));
  EXPECT_EQ(FiguresText({}, 10), "");
  EXPECT_THAT(FiguresJson(rows), HasSubstr("{\"level\":\"op\",\"function\":\"decode\""));
  EXPECT_EQ(FiguresJson({}), "[]");
}

TEST(FiguresTest, ALiveTraceIsHandedOnAndPublished) {
  TraceTables tables;
  TraceStore store(1000);
  LiveFigures live(tables, &store, 0);
  EXPECT_TRUE(live.Rows()->empty());
  TraceTables alone_tables;
  TraceStore alone(1000);
  PlaySample(alone_tables, alone);
  PlaySample(tables, live);
  EXPECT_EQ(store.ops().size(), alone.ops().size());
  EXPECT_EQ(store.spans().size(), alone.spans().size());
  EXPECT_EQ(store.counters().size(), alone.counters().size());
  EXPECT_EQ(store.notes().dropped_records, alone.notes().dropped_records);
  ASSERT_NE(Find(*live.Rows(), FigureLevel::kOp, "attend"), nullptr);
  EXPECT_EQ(LatestFigures(), live.Rows());
  TraceTables other;
  LiveFigures without(other, nullptr, 0);
  PlaySample(other, without);
  without.Flush();
  EXPECT_EQ(without.Rows()->size(), live.Rows()->size());
  EXPECT_EQ(LatestFigures(), without.Rows());
}

}  // namespace
}  // namespace graphtree::trace
