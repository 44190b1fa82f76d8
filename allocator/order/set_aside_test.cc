// Ranges by bit: what overlaps, and when there are too many.
#include "allocator/order/set_aside.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(SetAsideTest, RangesOfABitComeAndGoTogether) {
  SetAside aside;
  EXPECT_EQ(aside.bits(), 0u);
  EXPECT_TRUE(aside.Add(3, {10, 12}));
  EXPECT_TRUE(aside.Add(5, {11, 20}));
  EXPECT_TRUE(aside.Add(3, {40, 41}));
  EXPECT_EQ(aside.bits(), 1u << 3 | 1u << 5);
  EXPECT_EQ(aside.EndOfOverlap({0, 10}), 0u) << "they touch";
  EXPECT_EQ(aside.EndOfOverlap({9, 11}), 12u);
  EXPECT_EQ(aside.EndOfOverlap({9, 12}), 20u) << "the greatest end";
  EXPECT_EQ(aside.EndOfOverlap({20, 40}), 0u);
  EXPECT_EQ(aside.EndOfOverlap({0, 99}), 41u);
  aside.Drop(3);
  EXPECT_EQ(aside.bits(), 1u << 5);
  EXPECT_EQ(aside.EndOfOverlap({40, 41}), 0u);
  EXPECT_EQ(aside.EndOfOverlap({10, 12}), 20u);
  aside.Drop(5);
  EXPECT_EQ(aside.bits(), 0u);
}

TEST(SetAsideTest, ThereIsAnEndOfThem) {
  SetAside aside;
  for (uint32_t i = 0; i < SetAside::kMost; ++i) EXPECT_TRUE(aside.Add(1, {2 * i, 2 * i + 1}));
  EXPECT_FALSE(aside.Add(2, {500, 501}));
  EXPECT_EQ(aside.bits(), 1u << 1);
  EXPECT_EQ(aside.EndOfOverlap({500, 501}), 0u);
}

}  // namespace
}  // namespace graphtree
