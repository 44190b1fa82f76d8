// Replays of one kind stand together, and of too many the slow ones stay.
#include "tools/profile/replay_stacks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "profiler/trace/sample_trace.h"
#include "profiler/trace/store.h"
#include "profiler/trace/tables.h"

namespace graphtree::profile {
namespace {

constexpr size_t kMany = 1 << 20;

TEST(ReplayStacksTest, SampleByHand) {
  trace::TraceTables tables;
  trace::TraceStore store(kMany);
  trace::PlaySample(tables, store);
  const std::vector<ReplayKind> kinds = StackReplays(store, tables, kMany);
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0].name, "decode, tree node 5");
  EXPECT_EQ(kinds[0].count, 2u);
  ASSERT_EQ(kinds[0].ops.size(), 3u);
  const StackedReplay& slow = kinds[0].replays[1];
  EXPECT_EQ(slow.starts, (std::vector<int64_t>{0, 1500, 1500}));
  EXPECT_EQ(slow.durations, (std::vector<int64_t>{1000, 2000, 9000}));
  EXPECT_EQ(slow.wall_ns, 10500);
  EXPECT_EQ(slow.latency_ns, 6000);
}

TEST(ReplayStacksTest, OtherOpsAreAnotherKind) {
  trace::TraceTables tables;
  trace::TraceStore store(kMany);
  trace::PlayReplays({.replays = 20, .ops = 3}, tables, store);
  trace::PlayReplays({.replays = 1, .ops = 2}, tables, store);
  // The second plan's launch has the number of the first one's: its ops are of that launch.
  const std::vector<ReplayKind> kinds = StackReplays(store, tables, kMany);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].count, 19u);
  EXPECT_EQ(kinds[1].ops.size(), 5u);
}

TEST(ReplayStacksTest, OfTooManyTheSlowestStay) {
  trace::TraceTables tables;
  trace::TraceStore store(kMany);
  trace::PlayReplays({.replays = 5000, .ops = 10, .slow_replay = 4321}, tables, store);
  const std::vector<ReplayKind> kinds = StackReplays(store, tables, 2000);
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_EQ(kinds[0].count, 5000u);
  EXPECT_LE(kinds[0].replays.size(), 200u);
  EXPECT_GE(kinds[0].replays.size(), 150u);
  bool has_slow = false;
  for (const StackedReplay& replay : kinds[0].replays) has_slow |= replay.number == 4321;
  EXPECT_TRUE(has_slow);
}

TEST(ReplayStacksTest, LaunchesOfSingleOpsAreNoReplays) {
  trace::TraceTables tables;
  trace::TraceStore store(kMany);
  store.Op({.correlation = 1});
  store.Span({.correlation = 1, .kind = trace::SpanKind::kLaunch});
  EXPECT_TRUE(StackReplays(store, tables, kMany).empty());
}

}  // namespace
}  // namespace graphtree::profile
