// Shapes and fills that fit, and those that do not, at the limits.
#include "device/cuda/launch_checks.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

TEST(LaunchChecksTest, ShapesUpToTheLimitFit) {
  EXPECT_TRUE(ShapeFits({}));
  EXPECT_TRUE(ShapeFits({.grid = {0x7fffffff, 65535, 65535}, .block = {1024}}));
  EXPECT_TRUE(ShapeFits({.block = {32, 8, 4}}));
}

TEST(LaunchChecksTest, EmptyAndTooLargeShapesSayWhich) {
  for (const LaunchShape& shape : {LaunchShape{.grid = {0}}, LaunchShape{.grid = {1, 1, 0}},
                                   LaunchShape{.block = {0}}, LaunchShape{.block = {1, 0, 1}}}) {
    EXPECT_FALSE(ShapeFits(shape));
    EXPECT_THAT(ShapeFlaw(shape), HasSubstr("empty"));
  }
  // The last one's product is 2 to the 64th: nothing, if one counts in 64 bits.
  for (const LaunchShape& shape :
       {LaunchShape{.block = {1025}}, LaunchShape{.block = {1024, 2}},
        LaunchShape{.block = {1, 1, 65}}, LaunchShape{.block = {1u << 31, 1u << 31, 4}}}) {
    EXPECT_FALSE(ShapeFits(shape));
    EXPECT_THAT(ShapeFlaw(shape), HasSubstr("the most is 1024"));
  }
  for (const LaunchShape& shape : {LaunchShape{.grid = {0x80000000}},
                                   LaunchShape{.grid = {1, 65536}},
                                   LaunchShape{.grid = {1, 1, 65536}}}) {
    EXPECT_FALSE(ShapeFits(shape));
    EXPECT_THAT(ShapeFlaw(shape), HasSubstr("a grid of"));
  }
}

TEST(LaunchChecksTest, FillsSayWhatIsOff) {
  EXPECT_EQ(FillFlaw({.target = 8, .value = 1, .width = 4, .count = 100}), "");
  EXPECT_EQ(FillFlaw({.target = 7, .value = 1, .width = 1, .count = 0}), "");
  EXPECT_THAT(FillFlaw({.target = 8, .value = 1, .width = 3, .count = 1}), HasSubstr("width 3"));
  EXPECT_THAT(FillFlaw({.target = 8, .value = 1, .width = 0, .count = 1}), HasSubstr("width 0"));
  EXPECT_THAT(FillFlaw({.target = 6, .value = 1, .width = 4, .count = 1}), HasSubstr("aligned"));
  EXPECT_THAT(FillFlaw({.target = 8, .value = 1, .width = 2, .count = UINT64_MAX}),
              HasSubstr("addresses"));
}

}  // namespace
}  // namespace graphtree
