// Interning, extents, density and self-overlap of layouts.
#include "graphs/layout.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
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

TEST(LayoutTest, WhatNoTensorCanHaveIsALayoutThatKnowsIt) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto problem = [](const Layout* layout) {
    EXPECT_FALSE(layout->possible());
    EXPECT_EQ(layout->extent_bytes(), 0u);
    EXPECT_EQ(layout->elements(), 0);
    EXPECT_FALSE(layout->overlaps_itself());
    EXPECT_EQ(layout->Check().code(), absl::StatusCode::kInvalidArgument);
    return std::string(layout->Check().message());
  };
  EXPECT_EQ(problem(Layout::Of(DType::kU8, {int64_t{1} << 32, int64_t{1} << 32})),
            "a tensor of u8[4294967296,4294967296] has more bytes than there are addresses");
  EXPECT_EQ(problem(Layout::Of(DType::kU8, {int64_t{1} << 32, int64_t{1} << 32, 0})),
            "a tensor of u8[4294967296,4294967296,0] has more bytes than there are addresses");
  EXPECT_EQ(problem(Layout::Of(DType::kF64, {kHuge})),
            "a tensor of f64[4611686018427387904] has more bytes than there are addresses");
  EXPECT_EQ(problem(Layout::Strided(DType::kU8, {5}, {kHuge})),
            "a tensor of u8[5] strides 4611686018427387904 has more bytes than there are "
            "addresses");
  EXPECT_EQ(problem(Layout::Strided(DType::kU8, {2, 2, 2}, {kHuge, kHuge, kHuge})),
            "a tensor of u8[2,2,2] strides 4611686018427387904,4611686018427387904,"
            "4611686018427387904 has more bytes than there are addresses");
  EXPECT_EQ(problem(Layout::Strided(DType::kU8, {kHuge, kHuge}, {0, 0})),
            "a tensor of u8[4611686018427387904,4611686018427387904] strides 0,0 has more elements "
            "than can be counted");
  EXPECT_EQ(problem(Layout::Of(DType::kU8, {-1})), "a tensor of u8[-1] has a negative size");
  EXPECT_EQ(problem(Layout::Strided(DType::kU8, {2}, {-1})),
            "a tensor of u8[2] strides -1 has a negative stride");
  EXPECT_EQ(problem(Layout::Strided(DType::kU8, {2}, {})),
            "a tensor of u8[2] strides  has 1 sizes and 0 strides");
}

TEST(LayoutTest, TheLargestThereAreArePossible) {
  const Layout* large = Layout::Of(DType::kU8, {int64_t{1} << 31, int64_t{1} << 31});
  EXPECT_TRUE(large->possible());
  EXPECT_EQ(large->extent_bytes(), uint64_t{1} << 62);
  EXPECT_TRUE(large->Check().ok());
  const Layout* expanded = Layout::Strided(DType::kF64, {int64_t{1} << 40, 2}, {0, 1});
  EXPECT_TRUE(expanded->possible());
  EXPECT_EQ(expanded->extent_bytes(), 16u);
}

TEST(LayoutTest, ANumberThatIsNoElementTypeIsSaid) {
  const Layout* const layout = Layout::Of(static_cast<DType>(77), {4});
  EXPECT_FALSE(layout->possible());
  EXPECT_EQ(layout->extent_bytes(), 0u);
  EXPECT_EQ(layout->Check().message(),
            "a tensor of ?[4] has element type 77, and there is none with that number");
  EXPECT_FALSE(CheckSizes(static_cast<DType>(8), {1}).ok());
  EXPECT_TRUE(CheckSizes(DType::kF64, {1}).ok());
}

}  // namespace
}  // namespace graphtree
