// Weights against sums over all uses, and victims against trying every order.
#include "graphs/match/keep.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(UsesTest, AUseCountsHalfAfterAHalfLife) {
  Uses uses;
  EXPECT_DOUBLE_EQ(uses.At(100, 8, 100, 100), 8);
  EXPECT_DOUBLE_EQ(uses.At(300, 12, 200, 100), 4);
  EXPECT_DOUBLE_EQ(uses.At(500, 12, 200, 100), 1);
  EXPECT_DOUBLE_EQ(uses.weight(), 1);
}

TEST(UsesTest, LookingBringsNothingUpToDate) {
  Uses uses;
  EXPECT_DOUBLE_EQ(uses.At(100, 8, 100, 100), 8);
  EXPECT_DOUBLE_EQ(uses.Seen(300, 12, 200, 100), 4);
  EXPECT_DOUBLE_EQ(uses.weight(), 8);
  EXPECT_DOUBLE_EQ(uses.At(300, 12, 200, 100), 4);
}

TEST(UsesTest, AskingOftenChangesNothing) {
  Uses often, seldom;
  for (uint64_t now = 0; now <= 1000; ++now) often.At(now, 5, 0, 64);
  EXPECT_NEAR(often.weight(), seldom.At(1000, 5, 0, 64), 1e-9);
}

// One use at each call, for ever, weighs the sum of a geometric series.
TEST(UsesTest, ASteadyUserHasASteadyWeight) {
  Uses uses;
  for (uint64_t now = 0; now <= 5000; ++now) uses.At(now, now + 1, now, 100);
  EXPECT_NEAR(uses.weight(), 1 / (1 - std::exp2(-0.01)), 1e-6);
}

TEST(WorthTest, MoreUsesDearerAndSmallerIsWorthMore) {
  const Candidate base{.uses = 4, .bytes = 1000, .cost = 10};
  EXPECT_GT(Worth({.uses = 5, .bytes = 1000, .cost = 10}), Worth(base));
  EXPECT_GT(Worth({.uses = 4, .bytes = 1000, .cost = 11}), Worth(base));
  EXPECT_LT(Worth({.uses = 4, .bytes = 2000, .cost = 10}), Worth(base));
}

TEST(ChooseVictimsTest, NothingMustGoNothingGoes) {
  const std::vector<Candidate> candidates(3, {.uses = 1, .bytes = 10});
  EXPECT_TRUE(ChooseVictims(candidates, 0, 0).empty());
}

TEST(ChooseVictimsTest, AllThatMayGoWouldNotDoSoNothingGoes) {
  const std::vector<Candidate> candidates = {{.uses = 1, .bytes = 10},
                                             {.uses = 1, .bytes = 10, .pinned = true}};
  EXPECT_EQ(ChooseVictims(candidates, 1, 10), std::vector<size_t>{0});
  EXPECT_TRUE(ChooseVictims(candidates, 2, 0).empty());
  EXPECT_TRUE(ChooseVictims(candidates, 0, 11).empty());
}

TEST(ChooseVictimsTest, OfEqualsTheOldestGoes) {
  const std::vector<Candidate> candidates(4, {.uses = 1, .bytes = 10});
  EXPECT_EQ(ChooseVictims(candidates, 0, 15), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(LeastWorth(candidates), 0u);
}

// Everything that stays is worth at least what goes; enough goes; without the last victim it would
// not be enough.
TEST(ChooseVictimsTest, TheLeastAndNoMore) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Candidate> candidates(random() % 12);
    uint64_t loose = 0, loose_bytes = 0;
    for (Candidate& one : candidates) {
      one = {.uses = random() % 5 / 2.0, .bytes = random() % 100, .cost = 1 + random() % 3,
             .pinned = random() % 4 == 0};
      if (!one.pinned) ++loose, loose_bytes += one.bytes;
    }
    const uint64_t count = random() % 6, bytes = random() % 300;
    const std::vector<size_t> gone = ChooseVictims(candidates, count, bytes);
    if (loose < count || loose_bytes < bytes) {
      EXPECT_TRUE(gone.empty());
      continue;
    }
    uint64_t freed = 0;
    double most = 0;
    for (size_t i : gone) {
      EXPECT_FALSE(candidates[i].pinned);
      EXPECT_GE(Worth(candidates[i]), most);
      most = Worth(candidates[i]);
      freed += candidates[i].bytes;
    }
    EXPECT_GE(gone.size(), count);
    EXPECT_GE(freed, bytes);
    if (!gone.empty()) {
      EXPECT_TRUE(gone.size() == count || freed - candidates[gone.back()].bytes < bytes);
      EXPECT_EQ(gone[0], LeastWorth(candidates));
    }
    for (size_t i = 0; i < candidates.size(); ++i) {
      const bool goes = std::count(gone.begin(), gone.end(), i) > 0;
      if (candidates[i].pinned || goes || gone.empty()) continue;
      EXPECT_GE(Worth(candidates[i]), most);
    }
  }
}

TEST(LeastWorthTest, AllPinned) {
  EXPECT_EQ(LeastWorth(std::vector<Candidate>(2, {.pinned = true})), 2u);
  EXPECT_EQ(LeastWorth({}), 0u);
}

}  // namespace
}  // namespace graphtree
