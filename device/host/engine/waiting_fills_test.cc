// When a fill is done: after all that it waits for, before an op that comes later, or never.
#include "device/host/engine/waiting_fills.h"

#include <vector>

#include "device/kernel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::host {

bool operator==(const ByteFill& a, const ByteFill& b) {
  return a.range == b.range && a.byte == b.byte;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Work Writes(AddressRange range) {
  Work work;
  work.SetFill({range.base, 0, 1, range.bytes});
  return work;
}

Work Opaque() {
  Work work;
  work.SetFunction(OpKind::kKernel, "a library's", [] {});
  return work;
}

class WaitingFillsTest : public testing::Test {
 protected:
  WaitingFillsTest() {
    // Two units were issued, and both may touch the bytes.
    Unit* const units[] = {&first_, &second_};
    fills_.Add({{100, 50}, 7}, 2, units);
  }

  Unit first_, second_;
  WaitingFills fills_;
};

TEST_F(WaitingFillsTest, WaitsForEveryUnit) {
  EXPECT_TRUE(first_.poisons && second_.poisons);
  EXPECT_THAT(fills_.Over(second_), IsEmpty());
  EXPECT_FALSE(fills_.empty());
  EXPECT_THAT(fills_.Over(first_), ElementsAre(ByteFill{{100, 50}, 7}));
  EXPECT_TRUE(fills_.empty());
}

TEST_F(WaitingFillsTest, FillsBehindOneUnitComeInTheirOrder) {
  Unit* const units[] = {&first_};
  fills_.Add({{100, 50}, 8}, 2, units);
  EXPECT_THAT(fills_.Over(second_), IsEmpty());
  EXPECT_THAT(fills_.Over(first_),
              ElementsAre(ByteFill{{100, 50}, 7}, ByteFill{{100, 50}, 8}));
}

TEST_F(WaitingFillsTest, WhatWasIssuedBeforeChangesNothing) {
  EXPECT_THAT(fills_.Starts(2, Writes({100, 50})), IsEmpty());
  EXPECT_THAT(fills_.Starts(1, Opaque()), IsEmpty());
  fills_.Over(first_);
  EXPECT_THAT(fills_.Over(second_), ElementsAre(ByteFill{{100, 50}, 7}));
}

TEST_F(WaitingFillsTest, AnOpThatComesLaterFindsItsBytesFilled) {
  EXPECT_THAT(fills_.Starts(3, Writes({110, 10})), ElementsAre(ByteFill{{110, 10}, 7}));
  EXPECT_THAT(fills_.Starts(3, Writes({110, 10})), IsEmpty()) << "once";
  EXPECT_THAT(fills_.Starts(4, Writes({0, 105})), ElementsAre(ByteFill{{100, 5}, 7}));
  EXPECT_THAT(fills_.Starts(4, Writes({150, 10})), IsEmpty());
  fills_.Over(first_);
  EXPECT_THAT(fills_.Over(second_), ElementsAre(ByteFill{{105, 5}, 7}, ByteFill{{120, 30}, 7}));
}

TEST_F(WaitingFillsTest, NothingIsFilledOnceALaterOpaqueOpHasStarted) {
  EXPECT_THAT(fills_.Starts(3, Opaque()), IsEmpty());
  EXPECT_TRUE(fills_.empty());
  EXPECT_THAT(fills_.Over(first_), IsEmpty());
  EXPECT_THAT(fills_.Over(second_), IsEmpty());
}

TEST_F(WaitingFillsTest, AFillThatWasAskedForBehindTheOpWaitsOn) {
  Unit* const units[] = {&first_};
  fills_.Add({{100, 50}, 8}, 3, units);
  EXPECT_THAT(fills_.Starts(3, Writes({100, 50})), ElementsAre(ByteFill{{100, 50}, 7}));
  EXPECT_THAT(fills_.Over(first_), ElementsAre(ByteFill{{100, 50}, 8}));
}

}  // namespace
}  // namespace graphtree::host
