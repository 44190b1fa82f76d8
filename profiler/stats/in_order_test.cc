// Against a sort, over seeds: what is out of order by no more than the window comes in order.
#include "profiler/stats/in_order.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::trace {
namespace {

struct Value {
  int64_t start_ns;
  int number;
};

template <size_t kWindow>
std::vector<int64_t> Through(const std::vector<int64_t>& times) {
  InOrder<Value, kWindow> order;
  std::vector<int64_t> left;
  Value leaves = {};
  for (int64_t time : times) {
    if (order.Push({time, 0}, leaves)) left.push_back(leaves.start_ns);
  }
  while (order.Pop(leaves)) left.push_back(leaves.start_ns);
  return left;
}

TEST(InOrderTest, DisorderWithinTheWindowIsPutRight) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<int64_t> times;
    for (int i = 0; i < 100; ++i) times.push_back(random() % 60);
    std::vector<int64_t> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    // No value is more than four places from its own.
    std::vector<int64_t> shuffled = sorted;
    for (size_t i = 0; i + 4 < shuffled.size(); i += 4) {
      std::shuffle(shuffled.begin() + static_cast<ptrdiff_t>(i),
                   shuffled.begin() + static_cast<ptrdiff_t>(i) + 4, random);
    }
    EXPECT_EQ(Through<4>(shuffled), sorted);
    std::vector<int64_t> anything = Through<4>(times);
    std::sort(anything.begin(), anything.end());
    EXPECT_EQ(anything, sorted);
  }
}

TEST(InOrderTest, OfEqualOnesTheFirstLeavesFirst) {
  InOrder<Value, 2> order;
  Value leaves = {};
  for (int number = 0; number < 5; ++number) {
    if (!order.Push({7, number}, leaves)) continue;
    EXPECT_EQ(leaves.number, number - 2);
  }
  ASSERT_TRUE(order.Pop(leaves));
  EXPECT_EQ(leaves.number, 3);
}

}  // namespace
}  // namespace graphtree::trace
