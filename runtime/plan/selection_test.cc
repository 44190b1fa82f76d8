// The selection against all sets of shapes.
#include "runtime/plan/selection.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

std::vector<PlanItem> RandomItems(std::mt19937_64* random) {
  std::vector<PlanItem> items;
  for (uint64_t i = (*random)() % 10; i-- > 0;) {
    items.push_back({.lane = static_cast<uint32_t>((*random)() % 3),
                     .own_bytes = (*random)() % 8,
                     .pool_bytes = (*random)() % 30,
                     .worth = 1 + (*random)() % 6,
                     .is_there = (*random)() % 6 == 0});
  }
  return items;
}

uint64_t BytesOf(const std::vector<PlanItem>& items, uint32_t set) {
  uint64_t bytes = 0;
  std::map<uint32_t, uint64_t> pools;
  for (size_t i = 0; i < items.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    bytes += items[i].own_bytes;
    pools[items[i].lane] = std::max(pools[items[i].lane], items[i].pool_bytes);
  }
  for (const auto& [lane, pool] : pools) bytes += pool;
  return bytes;
}

struct Wanted {
  uint64_t worth = 0;
  uint64_t bytes = 0;
  bool fits = false;
};

Wanted BestOfAll(const std::vector<PlanItem>& items, uint64_t budget) {
  uint32_t there = 0;
  for (size_t i = 0; i < items.size(); ++i) there |= uint32_t{items[i].is_there} << i;
  const uint64_t limit = budget == 0 ? UINT64_MAX : std::max(budget, BytesOf(items, there));
  Wanted best;
  for (uint32_t set = 0; set < uint32_t{1} << items.size(); ++set) {
    if ((set & there) != there) continue;
    const uint64_t bytes = BytesOf(items, set);
    if (bytes > limit) continue;
    uint64_t worth = 0;
    for (size_t i = 0; i < items.size(); ++i) worth += (set >> i & 1) * items[i].worth;
    if (!best.fits || worth > best.worth || (worth == best.worth && bytes < best.bytes)) {
      best = {worth, bytes, true};
    }
  }
  return best;
}

TEST(SelectionTest, IsWorthTheMostOfAllThatFit) {
  uint64_t some_left_out = 0, over = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<PlanItem> items = RandomItems(&random);
    const uint64_t budget = random() % 4 == 0 ? 0 : 1 + random() % 90;
    const Selection selection = SelectWithin(items, budget);
    const Wanted best = BestOfAll(items, budget);
    ASSERT_EQ(selection.worth, best.worth) << "seed " << seed;
    ASSERT_EQ(selection.bytes, best.bytes) << "seed " << seed;
    uint32_t set = 0;
    for (size_t i = 0; i < items.size(); ++i) set |= uint32_t{selection.is_chosen[i]} << i;
    ASSERT_EQ(BytesOf(items, set), selection.bytes) << "seed " << seed;
    for (size_t i = 0; i < items.size(); ++i) {
      ASSERT_TRUE(selection.is_chosen[i] || !items[i].is_there) << "seed " << seed;
    }
    const auto chosen = std::count(selection.is_chosen.begin(), selection.is_chosen.end(), true);
    some_left_out += static_cast<size_t>(chosen) < items.size() && chosen > 1;
    over += budget > 0 && selection.bytes > budget;
  }
  EXPECT_GT(some_left_out, 1000u);
  EXPECT_GT(over, 10u);
}

TEST(SelectionTest, FitsAlsoWhereBytesAreRounded) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<PlanItem> items = RandomItems(&random);
    for (PlanItem& item : items) item.is_there = false;
    const uint64_t budget = 1 + random() % 90;
    const Selection selection = SelectWithin(items, budget, /*most_choices=*/2);
    ASSERT_LE(selection.bytes, budget) << "seed " << seed;
    ASSERT_LE(selection.worth, SelectWithin(items, budget).worth) << "seed " << seed;
  }
}

TEST(SelectionTest, LeavesTheLargestOutWhereItsPoolIsWorthManyOthers) {
  std::vector<PlanItem> items = {{.own_bytes = 1, .pool_bytes = 100, .worth = 3}};
  for (int i = 0; i < 5; ++i) items.push_back({.own_bytes = 1, .pool_bytes = 10});
  const Selection selection = SelectWithin(items, 16);
  EXPECT_FALSE(selection.is_chosen[0]);
  EXPECT_EQ(selection.worth, 5u);
  EXPECT_EQ(selection.bytes, 15u);
}

TEST(SelectionTest, AThousandShapesOfTwoLanes) {
  std::mt19937_64 random(3);
  std::vector<PlanItem> items;
  for (uint32_t i = 0; i < 1000; ++i) {
    items.push_back({.lane = i % 2,
                     .own_bytes = 1000 + random() % 300,
                     .pool_bytes = random() % 100000,
                     .worth = 1 + random() % 50});
  }
  const Selection selection = SelectWithin(items, 500000, /*most_choices=*/128);
  EXPECT_LE(selection.bytes, 500000u);
  EXPECT_GT(selection.worth, 5000u);
}

}  // namespace
}  // namespace graphtree
