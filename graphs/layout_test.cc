// Interning, extents, density and self-overlap of layouts.
#include "graphs/layout.h"

#include "gtest/gtest.h"

namespace graphtree {
namespace {

TEST(LayoutTest, EqualLayoutsAreOneObject) {
  EXPECT_EQ(Layout::Of(DType::kF32, {4, 8}), Layout::Strided(DType::kF32, {4, 8}, {8, 1}));
  EXPECT_NE(Layout::Of(DType::kF32, {4, 8}), Layout::Of(DType::kI32, {4, 8}));
  EXPECT_NE(Layout::Of(DType::kF32, {4, 8}), Layout::Of(DType::kF32, {8, 4}));
}

TEST(LayoutTest, ExtentRunsFromTheFirstToTheLastElement) {
  EXPECT_EQ(Layout::Of(DType::kF32, {4, 8})->extent_bytes(), 128u);
  EXPECT_EQ(Layout::Strided(DType::kF32, {4, 8}, {16, 2})->extent_bytes(), 4u * (48 + 14 + 1));
  EXPECT_EQ(Layout::Of(DType::kF64, {})->extent_bytes(), 8u);
  EXPECT_EQ(Layout::Of(DType::kF32, {3, 0})->extent_bytes(), 0u);
}

TEST(LayoutTest, DenseMeansRowMajorWithoutGaps) {
  EXPECT_TRUE(Layout::Of(DType::kF32, {4, 8})->dense());
  EXPECT_FALSE(Layout::Strided(DType::kF32, {4, 8}, {1, 4})->dense());
  EXPECT_FALSE(Layout::Strided(DType::kF32, {4, 8}, {9, 1})->dense());
  EXPECT_TRUE(Layout::Strided(DType::kF32, {1, 8}, {100, 1})->dense());
}

TEST(LayoutTest, SelfOverlapIsSeen) {
  EXPECT_TRUE(Layout::Strided(DType::kF32, {4, 8}, {0, 1})->overlaps_itself());
  EXPECT_TRUE(Layout::Strided(DType::kF32, {4, 8}, {4, 1})->overlaps_itself());
  EXPECT_FALSE(Layout::Strided(DType::kF32, {4, 8}, {1, 4})->overlaps_itself());
  EXPECT_FALSE(Layout::Strided(DType::kF32, {1, 8}, {0, 1})->overlaps_itself());
}

TEST(LayoutTest, TextNamesTypeSizesAndUnusualStrides) {
  EXPECT_EQ(Layout::Of(DType::kBF16, {2, 3})->ToString(), "bf16[2,3]");
  EXPECT_EQ(Layout::Strided(DType::kU8, {2, 3}, {1, 2})->ToString(), "u8[2,3] strides 1,2");
}

}  // namespace
}  // namespace graphtree
