// Which siblings a look-up tries, and how often, with few of them and with many.
#include "graphs/match/siblings.h"

#include <deque>

#include "gtest/gtest.h"

namespace graphtree {

// The index never looks inside.
struct Node {
  int number = 0;
};

namespace {

class SiblingsTest : public testing::Test {
 protected:
  void File(int count) {
    for (int i = 0; i < count; ++i) {
      made_.push_back({i});
      siblings_.Add(&made_.back(), LiveOf(i));
    }
  }
  static uint64_t LiveOf(int number) { return 1000 + number; }
  // The number of the sibling found that serves `wanted`, or -1. Counts the tries.
  int Find(int wanted, uint64_t live) {
    tries_ = 0;
    const Node* node = siblings_.Find([&] { return live; },
                                      [&](const Node& one) {
                                        ++tries_;
                                        return one.number == wanted;
                                      });
    return node == nullptr ? -1 : node->number;
  }

  std::deque<Node> made_;
  Siblings siblings_;
  int tries_ = 0;
};

TEST_F(SiblingsTest, AFewAreTriedInTheirOrder) {
  EXPECT_TRUE(siblings_.empty());
  EXPECT_EQ(Find(0, 0), -1);
  File(3);
  EXPECT_EQ(Find(2, 0), 2);
  EXPECT_EQ(tries_, 3);
  EXPECT_EQ(Find(7, 0), -1);
}

TEST_F(SiblingsTest, AmongManyOneTryFindsWhatWasMadeAroundTheSame) {
  constexpr int kMany = 1000;
  File(kMany);
  for (int number : {0, 500, kMany - 1}) {
    EXPECT_EQ(Find(number, LiveOf(number)), number);
    EXPECT_EQ(tries_, 1);
  }
}

TEST_F(SiblingsTest, WhatAScanHasFoundIsFoundAtOnceBehindIt) {
  File(100);
  constexpr uint64_t kLess = 5;  // nothing was recorded around that
  EXPECT_EQ(Find(60, kLess), 60);
  EXPECT_GT(tries_, 60);
  EXPECT_EQ(Find(60, kLess), 60);
  EXPECT_EQ(tries_, 1);
  EXPECT_EQ(Find(61, kLess), 61) << "and where it does not serve another one does";
}

TEST_F(SiblingsTest, WhatIsRemovedIsNowhere) {
  File(100);
  EXPECT_EQ(Find(60, 5), 60);
  siblings_.Remove(&made_[60]);
  EXPECT_EQ(Find(60, 5), -1);
  EXPECT_EQ(Find(60, LiveOf(60)), -1);
  EXPECT_EQ(siblings_.nodes().size(), 99u);
}

TEST_F(SiblingsTest, ScansAddNoMoreThanThereAreSiblings) {
  File(20);
  for (uint64_t live = 0; live < 20; ++live) EXPECT_EQ(Find(19, live), 19);
  EXPECT_EQ(Find(19, 500), 19);
  EXPECT_EQ(Find(19, 500), 19);
  EXPECT_GT(tries_, 1) << "it is full";
}

}  // namespace
}  // namespace graphtree
