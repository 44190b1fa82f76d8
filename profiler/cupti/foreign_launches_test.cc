// When launches of others are at rest, with a clock that the test turns.
#include "profiler/cupti/foreign_launches.h"

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree::cupti {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class ForeignLaunchesTest : public testing::Test {
 protected:
  static ForeignLaunches::Time At(int ms) { return ForeignLaunches::Time(milliseconds(ms)); }

  ForeignLaunches launches_;
  const std::thread::id me_ = std::this_thread::get_id();
  const milliseconds quiet_{100};
};

TEST_F(ForeignLaunchesTest, NoneIsAtRest) {
  EXPECT_TRUE(launches_.AtRest(At(0), quiet_));
  EXPECT_EQ(launches_.count(), 0u);
}

TEST_F(ForeignLaunchesTest, RestBeginsWithTheEndOfTheLast) {
  EXPECT_TRUE(launches_.Begin(me_, At(1000)));
  EXPECT_FALSE(launches_.AtRest(At(9000), quiet_));  // under way
  EXPECT_THAT(launches_.Words(), HasSubstr("1 launches of graphs by others"));
  EXPECT_THAT(launches_.Words(), HasSubstr("1 of them under way"));
  launches_.End(me_, At(9000));
  EXPECT_FALSE(launches_.AtRest(At(9099), quiet_));
  EXPECT_TRUE(launches_.AtRest(At(9100), quiet_));
}

TEST_F(ForeignLaunchesTest, ACallInsideOfACallIsOneLaunch) {
  EXPECT_TRUE(launches_.Begin(me_, At(0)));
  EXPECT_FALSE(launches_.Begin(me_, At(1)));
  launches_.End(me_, At(2));
  EXPECT_FALSE(launches_.AtRest(At(5000), quiet_));
  launches_.End(me_, At(3));
  EXPECT_TRUE(launches_.AtRest(At(5000), quiet_));
  EXPECT_EQ(launches_.count(), 1u);
}

TEST_F(ForeignLaunchesTest, ThreadsCountApart) {
  EXPECT_TRUE(launches_.Begin(me_, At(0)));
  std::thread([&] {
    EXPECT_TRUE(launches_.Begin(std::this_thread::get_id(), At(1)));
    launches_.End(std::this_thread::get_id(), At(2));
  }).join();
  EXPECT_FALSE(launches_.AtRest(At(5000), quiet_));
  launches_.End(me_, At(6000));
  EXPECT_TRUE(launches_.AtRest(At(7000), quiet_));
  EXPECT_EQ(launches_.count(), 2u);
}

TEST_F(ForeignLaunchesTest, OneThatBeganUnseenCountsWhenItEnds) {
  launches_.End(me_, At(50));
  EXPECT_EQ(launches_.count(), 1u);
  EXPECT_FALSE(launches_.AtRest(At(60), quiet_));
  launches_.Reset();
  EXPECT_TRUE(launches_.AtRest(At(60), quiet_));
}

}  // namespace
}  // namespace graphtree::cupti
