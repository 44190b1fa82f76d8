// GRAPHTREE_CHECK: silent and lazy when it holds, loud with its message when it does not.
#include "device/base/check.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(CheckTest, PassingCheckDoesNotBuildItsMessage) {
  int built = 0;
  GRAPHTREE_CHECK(1 + 1 == 2) << ++built;
  EXPECT_EQ(built, 0);
}

TEST(CheckDeathTest, FailingCheckNamesTheConditionAndTheValues) {
  const int offset = 7;
  EXPECT_DEATH(GRAPHTREE_CHECK(offset < 4) << "offset " << offset, "offset < 4 offset 7");
}

}  // namespace
}  // namespace graphtree
