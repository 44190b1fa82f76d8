// Who gets a place: what is recorded, then what is worth more, then what comes first.
#include "runtime/plan/places.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::ElementsAre;

TEST(PlacesTest, WhatIsThereStaysThenWorthThenOrder) {
  const std::vector<PlaceWanted> items = {
      {.worth = 2}, {.worth = 9}, {.worth = 1, .is_there = true}, {.worth = 2}};
  EXPECT_THAT(GivePlaces(items, {{{0, 4}}, 4}), ElementsAre(true, true, true, true));
  EXPECT_THAT(GivePlaces(items, {{{0, 3}}, 9}), ElementsAre(true, true, true, false));
  EXPECT_THAT(GivePlaces(items, {{{0, 9}}, 2}), ElementsAre(false, true, true, false));
  EXPECT_THAT(GivePlaces(items, {{{0, 1}}, 9}), ElementsAre(false, false, true, false));
  EXPECT_THAT(GivePlaces(items, {}), ElementsAre(false, false, true, false));
  EXPECT_TRUE(GivePlaces({}, {}).empty());
}

// By hand: no limit is passed, nothing worse has a place that something better could have, and no
// place is left where somebody could use it.
TEST(PlacesTest, AnyLanesAndLimits) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<PlaceWanted> items(random() % 12);
    for (PlaceWanted& item : items) {
      item = {static_cast<uint32_t>(random() % 3), random() % 4, random() % 4 == 0};
    }
    Places places = {{{0, random() % 5}, {1, random() % 5}}, random() % 8};
    const std::vector<bool> has = GivePlaces(items, places);
    Places left = places;
    for (size_t i = 0; i < items.size(); ++i) {
      ASSERT_TRUE(has[i] || !items[i].is_there) << "seed " << seed;
      if (!items[i].is_there) continue;
      left.of_lane[items[i].lane] -= left.of_lane[items[i].lane] > 0;
      left.of_all -= left.of_all > 0;
    }
    for (size_t i = 0; i < items.size(); ++i) {
      if (!has[i] || items[i].is_there) continue;
      ASSERT_GT(left.of_lane[items[i].lane]--, 0u) << "seed " << seed;
      ASSERT_GT(left.of_all--, 0u) << "seed " << seed;
    }
    for (size_t i = 0; i < items.size(); ++i) {
      if (has[i]) continue;
      ASSERT_TRUE(left.of_all == 0 || left.of_lane[items[i].lane] == 0) << "seed " << seed;
      for (size_t j = 0; j < items.size(); ++j) {
        if (!has[j] || items[j].lane != items[i].lane) continue;
        const bool is_better = !items[j].is_there && items[i].worth > items[j].worth;
        ASSERT_FALSE(is_better) << "seed " << seed << ": " << i << " than " << j;
      }
    }
  }
}

}  // namespace
}  // namespace graphtree
