// Into how few pieces the dims of layouts are merged.
#include "graphs/inputs/ingest/ingest_shape.h"

#include <vector>

#include "graphs/layout.h"
#include "gtest/gtest.h"

namespace graphtree::ingest {
namespace {

void ExpectFlat(const Layout* layout, uint64_t bytes) {
  const CopyShape shape = ShapeOf(*layout);
  EXPECT_EQ(shape.dims, 0u) << layout->ToString();
  EXPECT_EQ(shape.amount, bytes) << layout->ToString();
}

TEST(IngestShapeTest, DenseLayoutsAreOneRun) {
  ExpectFlat(Layout::Of(DType::kF32, {4, 512}), 8192);
  ExpectFlat(Layout::Of(DType::kF32, {}), 4);
  ExpectFlat(Layout::Strided(DType::kBF16, {3, 5}, {1, 3}), 30);
}

TEST(IngestShapeTest, NothingToCopyIsNoUnits) {
  const CopyShape shape = ShapeOf(*Layout::Of(DType::kF32, {4, 0}));
  EXPECT_EQ(shape.units(), 0u);
}

TEST(IngestShapeTest, AnExpandedDimIsCopiedOnce) {
  ExpectFlat(Layout::Strided(DType::kF32, {4, 512}, {0, 1}), 2048);
  ExpectFlat(Layout::Strided(DType::kF32, {7, 9}, {0, 0}), 4);
}

TEST(IngestShapeTest, StridesOfDimsOfOneDoNotCount) {
  ExpectFlat(Layout::Strided(DType::kF32, {1, 8, 1}, {999, 1, 77}), 32);
}

TEST(IngestShapeTest, OverlappingWindowsAreTheirExtent) {
  ExpectFlat(Layout::Strided(DType::kF32, {5, 4}, {2, 1}), 48);
}

TEST(IngestShapeTest, ASliceHasPiecesAsWideAsItsStridesAllow) {
  const CopyShape shape = ShapeOf(*Layout::Strided(DType::kF32, {8, 16}, {32, 1}));
  ASSERT_EQ(shape.dims, 2u);
  EXPECT_EQ(shape.width, 16u);
  EXPECT_EQ(shape.amount, 32u);
  EXPECT_EQ(shape.dim[0].size, 4u);
  EXPECT_EQ(shape.dim[0].stride, 16u);
  EXPECT_EQ(shape.dim[1].size, 8u);
  EXPECT_EQ(shape.dim[1].stride, 128u);
}

TEST(IngestShapeTest, AColumnHasOnePiecePerElement) {
  const CopyShape shape = ShapeOf(*Layout::Strided(DType::kBF16, {100, 1}, {7, 1}));
  ASSERT_EQ(shape.dims, 1u);
  EXPECT_EQ(shape.width, 2u);
  EXPECT_EQ(shape.amount, 100u);
  EXPECT_EQ(shape.dim[0].stride, 14u);
}

TEST(IngestShapeTest, OuterDimsThatContinueEachOtherMerge) {
  const CopyShape shape = ShapeOf(*Layout::Strided(DType::kF64, {3, 5, 2}, {50, 10, 1}));
  ASSERT_EQ(shape.dims, 1u);
  EXPECT_EQ(shape.dim[0].size, 15u);
  EXPECT_EQ(shape.dim[0].stride, 80u);
  EXPECT_EQ(shape.width, 16u);
}

TEST(IngestShapeTest, EightDimsWithGapsFitAndNineAreTheirExtent) {
  std::vector<int64_t> sizes(8, 2), strides;
  int64_t stride = 2;
  for (size_t i = 0; i < 8; ++i, stride *= 3) strides.push_back(stride);
  EXPECT_EQ(ShapeOf(*Layout::Strided(DType::kU8, sizes, strides)).dims, 8u);
  sizes.push_back(2);
  strides.push_back(stride);
  const Layout* nine = Layout::Strided(DType::kU8, sizes, strides);
  ExpectFlat(nine, nine->extent_bytes());
}

}  // namespace
}  // namespace graphtree::ingest
