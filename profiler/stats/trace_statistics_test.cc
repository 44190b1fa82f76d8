// Numbers that can be checked by hand, launches that come late, and tables that are full.
#include "profiler/stats/trace_statistics.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "profiler/trace/records.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"

namespace graphtree::trace {
namespace {

const OpRow* RowNamed(const TraceStatistics& statistics, absl::string_view name,
                      bool in_graph = true) {
  for (const OpRow& row : statistics.ops()) {
    const Identity& identity = statistics.tables().identity(row.identity);
    if (statistics.tables().text(identity.name) == name && (row.local_node != 0) == in_graph) {
      return &row;
    }
  }
  return nullptr;
}

TEST(TraceStatisticsTest, SampleByHand) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  PlaySample(tables, statistics);
  ASSERT_EQ(statistics.replays().size(), 1u);
  const ReplayRow& replay = statistics.replays()[0];
  EXPECT_EQ(tables.text(replay.function), "decode");
  EXPECT_EQ(replay.tree_node, 5);
  EXPECT_EQ(replay.wall.count(), 2u);
  EXPECT_EQ(replay.wall.min(), 4500);   // 36 to 40.5 us
  EXPECT_EQ(replay.wall.max(), 10500);  // 66 to 76.5 us
  EXPECT_EQ(replay.work.min(), 4000);
  EXPECT_EQ(replay.gaps.min(), 500);    // between the copy and the two kernels
  EXPECT_EQ(replay.gaps.max(), 500);
  EXPECT_EQ(replay.latency.min(), 6000);
  EXPECT_EQ(replay.call.max(), 4000);
  EXPECT_EQ(replay.ops, 6u);
  EXPECT_EQ(replay.unmatched, 0u);
  const OpRow* attend = RowNamed(statistics, "attend");
  ASSERT_NE(attend, nullptr);
  EXPECT_EQ(attend->duration.min(), 3000);
  EXPECT_EQ(attend->duration.max(), 9000);
  EXPECT_EQ(attend->bytes, 2 * 8192);
  const OpRow* alone = RowNamed(statistics, "norm<bf16>", false);
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->latency.min(), 5000);  // called at 12, begun at 17 us
  EXPECT_EQ(statistics.waiting_alone().sum(), 5000);
  EXPECT_EQ(statistics.op_count(), 7u);
  EXPECT_EQ(statistics.without_launch(), 0u);
  EXPECT_EQ(statistics.notes().dropped_records, 2u);
  EXPECT_EQ(statistics.last_ns() - statistics.first_ns(), 100'000);  // the request
  ASSERT_EQ(statistics.counters().size(), 1u);
  EXPECT_EQ(statistics.counters()[0].most, 1 << 20);
}

TEST(TraceStatisticsTest, GapsBetweenOpsAreOfTheirPair) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  PlayReplays({.replays = 100, .ops = 3}, tables, statistics);
  ASSERT_EQ(statistics.pairs().size(), 2u);
  for (const PairRow& pair : statistics.pairs()) {
    EXPECT_EQ(pair.gap.count(), 100u);
    EXPECT_EQ(pair.gap.median(), 500);
  }
  const ReplayRow& replay = statistics.replays().at(0);
  EXPECT_EQ(replay.gaps.median(), 1000);
  EXPECT_EQ(replay.wall.min(), 3 * 2000 + 0 + 1 + 2 + 2 * 500);
  EXPECT_EQ(replay.idle.min(), 9000);  // the pause, and the latency of the launch after it
}

// PyTorch's file has launches behind the kernels that they launch.
TEST(TraceStatisticsTest, LaunchesMayComeAfterTheirOps) {
  TraceTables tables;
  TraceStore store(1000);
  PlaySample(tables, store);
  TraceStatistics statistics(tables);
  for (const DeviceOp& op : store.ops()) statistics.Op(op);
  for (const HostSpan& span : store.spans()) statistics.Span(span);
  statistics.End({});
  ASSERT_EQ(statistics.replays().size(), 1u);
  EXPECT_EQ(statistics.replays()[0].latency.min(), 6000);
  EXPECT_EQ(statistics.without_launch(), 0u);
}

// Ops that run side by side come as they end, and so not as they begin.
TEST(TraceStatisticsTest, WorkAndGapsAreTheSameInWhicheverOrderOpsEnd) {
  const auto rows = [](bool by_end) {
    TraceTables tables;
    std::vector<DeviceOp> ops;
    std::mt19937 random(5);
    for (uint32_t i = 0; i < 200; ++i) {
      ops.push_back({.start_ns = 1000 * i + static_cast<int64_t>(random() % 700),
                     .duration_ns = 100 + static_cast<int64_t>(random() % 3000),
                     .correlation = 1 + i / 50,
                     .graph_node = PackedNode(3, i % 50 + 1),
                     .identity = tables.Intern({.name = tables.Text(absl::StrCat("k", i % 50))}),
                     .stream = i % 3});
    }
    std::stable_sort(ops.begin(), ops.end(), [&](const DeviceOp& a, const DeviceOp& b) {
      const auto key = [&](const DeviceOp& op) {
        return op.start_ns + (by_end ? op.duration_ns : 0);
      };
      return key(a) < key(b);
    });
    TraceStatistics statistics(tables);
    for (const DeviceOp& op : ops) statistics.Op(op);
    statistics.End({});
    double gaps = 0;
    for (const PairRow& pair : statistics.pairs()) gaps += pair.gap.sum();
    const ReplayRow& replay = statistics.replays().at(0);
    return std::vector<double>{replay.work.sum(), replay.gaps.sum(), replay.wall.sum(), gaps,
                               statistics.busy_ns(), static_cast<double>(replay.wall.count())};
  };
  EXPECT_EQ(rows(true), rows(false));
  EXPECT_GT(rows(true)[1], 0);
}

// An op that waits for the one before it does not wait for its launch.
TEST(TraceStatisticsTest, AStreamThatIsBusyWaitsForNoLaunch) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  for (uint64_t i = 1; i <= 3; ++i) {
    const int64_t call = static_cast<int64_t>(i) * 1000;
    statistics.Span({.start_ns = call, .correlation = i, .kind = SpanKind::kLaunch});
    // The second begins where the first ends, the third 200 ns after the second.
    const int64_t start = i == 1 ? 5000 : i == 2 ? 9000 : 13200;
    statistics.Op({.start_ns = start, .duration_ns = 4000, .correlation = i});
  }
  statistics.End({});
  EXPECT_EQ(statistics.waiting_alone().count(), 3u);
  EXPECT_EQ(statistics.waiting_alone().sum(), 4000 + 0 + 200);
}

TEST(TraceStatisticsTest, OpsWithoutALaunchAreCounted) {
  TraceTables tables;
  TraceStore store(1000);
  PlaySample(tables, store);
  TraceStatistics statistics(tables);
  for (const DeviceOp& op : store.ops()) statistics.Op(op);
  statistics.End({});
  EXPECT_EQ(statistics.without_launch(), 7u);
  EXPECT_EQ(statistics.replays().at(0).latency.count(), 0u);
  EXPECT_EQ(statistics.replays().at(0).wall.count(), 2u);
}

// A graph of which nothing is known but the names of its ops.
TEST(TraceStatisticsTest, GraphsWithoutIdsAreToldApartByTheirOps) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  const auto launch = [&](uint64_t correlation, const std::vector<std::string>& names) {
    statistics.Span({.correlation = correlation, .kind = SpanKind::kLaunch, .is_graph = true});
    for (const std::string& name : names) {
      const IdentityId id = tables.Intern({.name = tables.Text(name)});
      statistics.Op({.correlation = correlation, .identity = id});
    }
  };
  launch(1, {"a", "b"});
  launch(2, {"b", "a"});
  launch(3, {"a", "b"});
  statistics.End({});
  ASSERT_EQ(statistics.replays().size(), 2u);
  EXPECT_EQ(statistics.replays()[0].wall.count(), 2u);
}

TEST(TraceStatisticsTest, ReplayThatLacksOpsIsCounted) {
  TraceTables tables;
  TraceStore store(1000);
  PlaySample(tables, store);
  TraceStatistics statistics(tables);
  for (size_t i = 0; i + 1 < store.ops().size(); ++i) statistics.Op(store.ops()[i]);
  statistics.End({});
  EXPECT_EQ(statistics.replays().at(0).unmatched, 1u);
}

TEST(TraceStatisticsTest, FullTablesCountWhatFindsNoRoom) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  const size_t ops = TraceStatistics::kMostRows + 10;
  for (size_t i = 0; i < ops; ++i) {
    statistics.Op({.correlation = i + 1,
                   .identity = tables.Intern({.grid = {static_cast<uint32_t>(i) + 1, 1, 1}})});
  }
  statistics.End({});
  EXPECT_EQ(statistics.ops().size(), TraceStatistics::kMostRows);
  EXPECT_EQ(statistics.without_room(), 10u);
  EXPECT_EQ(statistics.op_count(), ops);
}

// More launches at once than the window holds: the oldest are closed with what came.
TEST(TraceStatisticsTest, WindowOfLaunchesIsBounded) {
  TraceTables tables;
  TraceStatistics statistics(tables);
  const IdentityId id = tables.Intern({.name = tables.Text("k")});
  const uint64_t launches = TraceStatistics::kOpenLaunches + 100;
  for (uint64_t i = 1; i <= launches; ++i) statistics.Op({.correlation = i, .identity = id});
  for (uint64_t i = 1; i <= launches; ++i) {
    statistics.Span({.correlation = i, .kind = SpanKind::kLaunch});
  }
  statistics.End({});
  // A first one that was closed comes back as a launch without ops, and pushes another out.
  EXPECT_EQ(statistics.ops().at(0).latency.count() + statistics.without_launch(), launches);
  EXPECT_GE(statistics.without_launch(), 100u);
}

}  // namespace
}  // namespace graphtree::trace
