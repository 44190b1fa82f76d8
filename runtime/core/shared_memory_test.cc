// Random lanes that take what they may: never more than there is.
#include "runtime/core/shared_memory.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(SharedLimitsTest, EachMayGrowByWhatIsFree) {
  EXPECT_EQ(SharedLimits(100, {30, 20}), (std::vector<uint64_t>{80, 70}));
  EXPECT_EQ(SharedLimits(100, {0}), (std::vector<uint64_t>{100}));
  EXPECT_EQ(SharedLimits(100, {90, 20}), (std::vector<uint64_t>{90, 20})) << "nothing is free";
  EXPECT_TRUE(SharedLimits(100, {}).empty());
}

TEST(SharedLimitsTest, LanesThatGrowOneByOneNeverTakeMoreThanThereIs) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> taken(1 + random() % 5, 0);
    const uint64_t total = random() % 1000;
    for (int i = 0; i < 50; ++i) {
      const size_t lane = random() % taken.size();
      const uint64_t limit = SharedLimits(total, taken)[lane];
      ASSERT_GE(limit, taken[lane]);
      const uint64_t more = (limit - taken[lane]) * (random() % 5) / 4;
      taken[lane] = random() % 3 == 0 ? 0 : taken[lane] + more;
      uint64_t all = 0;
      for (const uint64_t bytes : taken) all += bytes;
      ASSERT_LE(all, total);
    }
  }
}

TEST(SharedMemoryTest, OnlyWhatIsLackingIsAskedOfOthers) {
  EXPECT_EQ(LackOf(100, 60, 40), 0u);
  EXPECT_EQ(LackOf(100, 60, 41), 1u);
  EXPECT_EQ(LackOf(100, 130, 5), 5u) << "nothing is left";
  EXPECT_EQ(LackOf(100, 0, 200), 100u);
}

}  // namespace
}  // namespace graphtree
