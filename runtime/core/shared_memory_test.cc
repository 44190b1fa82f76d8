// What others have to give back.
#include "runtime/core/shared_memory.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(SharedMemoryTest, OnlyWhatIsLackingIsAskedOfOthers) {
  EXPECT_EQ(LackOf(100, 60, 40), 0u);
  EXPECT_EQ(LackOf(100, 60, 41), 1u);
  EXPECT_EQ(LackOf(100, 130, 5), 5u) << "nothing is left";
  EXPECT_EQ(LackOf(100, 0, 200), 100u);
}

}  // namespace
}  // namespace graphtree
