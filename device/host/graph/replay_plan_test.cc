// Chains, what comes before what, and followers, against a search through the edges.
#include "device/host/graph/replay_plan.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::host {
namespace {

std::vector<Op> OpsOf(const std::vector<std::vector<OpId>>& dependencies) {
  std::vector<Op> ops(dependencies.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].id = static_cast<OpId>(i);
    for (OpId from : dependencies[i]) ops[i].dependencies.push_back({from});
  }
  return ops;
}

TEST(ReplayPlanTest, ALineIsOneChain) {
  const ReplayPlan plan(OpsOf({{}, {0}, {1}, {2}}));
  EXPECT_EQ(plan.chain_count(), 1u);
  EXPECT_EQ(plan.place(3).index, 3u);
  EXPECT_EQ(plan.place(3).before[0], 3u);
  EXPECT_EQ(plan.waits_for(), (std::vector<uint32_t>{0, 1, 1, 1}));
}

TEST(ReplayPlanTest, AForkIsTwoChainsThatDoNotKnowEachOther) {
  const ReplayPlan plan(OpsOf({{}, {0}, {0}, {1, 2}}));
  EXPECT_EQ(plan.chain_count(), 2u);
  const GraphPlace left = plan.place(1), right = plan.place(2);
  EXPECT_LE(right.before[left.chain], left.index);
  EXPECT_LE(left.before[right.chain], right.index);
  EXPECT_EQ(plan.followers(0).size(), 2u);
  EXPECT_EQ(plan.waits_for()[3], 2u);
}

TEST(ReplayPlanTest, AnEmptyGraphIsFine) { EXPECT_EQ(ReplayPlan(OpsOf({})).op_count(), 0u); }

TEST(ReplayPlanTest, AgreesWithASearchThroughTheEdges) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const uint32_t count = 1 + random() % 24;
    std::vector<std::vector<OpId>> dependencies(count);
    std::vector<std::vector<bool>> after(count, std::vector<bool>(count));
    for (uint32_t op = 1; op < count; ++op) {
      for (uint32_t from = 0; from < op; ++from) {
        if (random() % 6 != 0) continue;
        dependencies[op].push_back(from);
        after[op][from] = true;
        for (uint32_t i = 0; i < from; ++i) after[op][i] = after[op][i] || after[from][i];
      }
    }
    const ReplayPlan plan(OpsOf(dependencies));
    uint32_t edges = 0, followers = 0;
    for (uint32_t op = 0; op < count; ++op) {
      edges += static_cast<uint32_t>(dependencies[op].size());
      followers += static_cast<uint32_t>(plan.followers(op).size());
      for (uint32_t other = 0; other < count; ++other) {
        if (op == other) continue;
        const GraphPlace place = plan.place(other);
        ASSERT_EQ(plan.place(op).before[place.chain] > place.index, after[op][other])
            << op << " after " << other;
      }
    }
    EXPECT_EQ(edges, followers);
  }
}

}  // namespace
}  // namespace graphtree::host
