// The order that is given is kept where it can be, and repaired where it cannot.
#include "device/cuda/op_order.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;
using Order = std::vector<uint32_t>;

TEST(OpOrderTest, NothingToOrder) { EXPECT_EQ(CaptureOrder(0, {}), Order{}); }

TEST(OpOrderTest, TheOrderGivenIsKept) {
  EXPECT_EQ(CaptureOrder(4, {}), (Order{0, 1, 2, 3}));
  EXPECT_EQ(CaptureOrder(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}), (Order{0, 1, 2, 3}));
}

TEST(OpOrderTest, AnOpComesRightAfterWhatItWaitsFor) {
  EXPECT_EQ(CaptureOrder(3, {{2, 0}}), (Order{2, 0, 1}));
  EXPECT_EQ(CaptureOrder(4, {{3, 0}, {1, 0}}), (Order{1, 3, 0, 2}));
}

TEST(OpOrderTest, ALongChainNeedsNoStack) {
  constexpr uint32_t kOps = 200000;
  Edges backwards;
  for (uint32_t i = 0; i + 1 < kOps; ++i) backwards.emplace_back(i + 1, i);
  const Order order = CaptureOrder(kOps, backwards);
  ASSERT_EQ(order.size(), kOps);
  EXPECT_EQ(order.front(), kOps - 1);
  EXPECT_EQ(order.back(), 0u);
}

TEST(OpOrderTest, RandomGraphs) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const uint32_t count = 1 + random() % 40;
    Order rank(count);  // a hidden order that makes the edges free of cycles
    for (uint32_t i = 0; i < count; ++i) rank[i] = i;
    if (seed % 2 == 0) std::shuffle(rank.begin(), rank.end(), random);
    Edges edges;
    for (uint32_t i = 0; i < 2 * count; ++i) {
      const uint32_t a = random() % count, b = random() % count;
      if (rank[a] < rank[b]) edges.emplace_back(a, b);
    }
    const Order order = CaptureOrder(count, edges);
    ASSERT_EQ(order.size(), count);
    Order place(count, count);
    for (uint32_t i = 0; i < count; ++i) place[order[i]] = i;
    EXPECT_EQ(std::count(place.begin(), place.end(), count), 0) << "an op is missing";
    for (const auto& [from, to] : edges) EXPECT_LT(place[from], place[to]);
    if (seed % 2 == 1) {
      EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    }
  }
}

}  // namespace
}  // namespace graphtree
