// Every tensor that is taken is read element by element through its rows, and compared.
#include "runtime/slots/tensor_rows.h"

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

SlotSpec Slot(std::vector<int64_t> sizes, uint32_t axis) {
  return {.name = "s", .sizes = std::move(sizes), .rows = KeyField::kTokens, .axis = axis};
}

Tensor At(const Layout* layout) { return Tensor::Foreign(0x1000, layout); }

std::string Refusal(const SlotSpec& slot, const Tensor& tensor) {
  const absl::StatusOr<DeviceRows> rows = RowsOfTensor(slot, tensor);
  EXPECT_FALSE(rows.ok());
  return std::string(rows.status().message());
}

// Where the rows say that an element lies: the element (piece, row, column).
int64_t ByRows(const DeviceRows& rows, int64_t piece, int64_t row, int64_t column) {
  return piece * rows.piece_stride + row * rows.row_stride + column;
}

void ExpectSameElements(const SlotSpec& slot, const Tensor& tensor, const DeviceRows& rows) {
  const absl::Span<const int64_t> sizes = tensor.shape().sizes();
  const int64_t columns = RowElementsOf(slot);
  std::vector<int64_t> at(sizes.size(), 0);
  for (int64_t number = 0; number < tensor.shape().elements(); ++number) {
    int64_t place = 0;
    for (size_t i = 0; i < sizes.size(); ++i) place += at[i] * tensor.shape().strides()[i];
    const int64_t column = number % columns;
    const int64_t row = number / columns % rows.rows;
    const int64_t piece = number / columns / rows.rows;
    ASSERT_EQ(ByRows(rows, piece, row, column), place) << tensor.shape().ToString();
    for (size_t i = sizes.size(); i-- > 0 && ++at[i] == sizes[i];) at[i] = 0;
  }
}

TEST(TensorRowsTest, RandomStridesAreReadRightOrRefused) {
  std::mt19937 random(20);
  int taken = 0;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const size_t axes = 1 + random() % 4;
    const auto axis = static_cast<uint32_t>(random() % axes);
    std::vector<int64_t> greatest(axes), sizes(axes), strides(axes);
    for (size_t i = 0; i < axes; ++i) greatest[i] = 1 + random() % 4;
    sizes = greatest;
    sizes[axis] = 1 + random() % greatest[axis];
    int64_t stride = 1;
    for (size_t i = axes; i-- > 0;) {
      strides[i] = stride;
      stride *= sizes[i];
      if (random() % 4 == 0) stride += random() % 5;
    }
    if (random() % 8 == 0) strides[random() % axes] = random() % 3;
    const SlotSpec slot = Slot(greatest, axis);
    const Tensor tensor = At(Layout::Strided(DType::kI32, sizes, strides));
    const absl::StatusOr<DeviceRows> rows = RowsOfTensor(slot, tensor);
    if (!rows.ok()) {
      ++refused;
      continue;
    }
    ++taken;
    EXPECT_EQ(rows->rows, sizes[axis]);
    ExpectSameElements(slot, tensor, *rows);
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 200);
}

TEST(TensorRowsTest, DenseTensorsAreTakenAlongEveryAxis) {
  for (uint32_t axis = 0; axis < 3; ++axis) {
    std::vector<int64_t> sizes = {3, 4, 5};
    const SlotSpec slot = Slot(sizes, axis);
    sizes[axis] = 2;
    const Tensor tensor = At(Layout::Of(DType::kI64, sizes));
    const absl::StatusOr<DeviceRows> rows = RowsOfTensor(slot, tensor);
    ASSERT_THAT(rows, IsOk());
    EXPECT_EQ(rows->address, 0x1000u);
    EXPECT_EQ(rows->type, DType::kI64);
    ExpectSameElements(slot, tensor, *rows);
  }
}

TEST(TensorRowsTest, ASlotOfOneElementTakesOne) {
  const SlotSpec slot = {.name = "s"};
  const absl::StatusOr<DeviceRows> rows = RowsOfTensor(slot, At(Layout::Of(DType::kI32, {})));
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ(rows->rows, 1);
}

TEST(TensorRowsTest, WhatDoesNotFitIsRefusedInWords) {
  EXPECT_THAT(Refusal(Slot({8}, 0), Tensor()), HasSubstr("nothing"));
  EXPECT_THAT(Refusal(Slot({8}, 0), At(Layout::Of(DType::kI32, {2, 2}))),
              HasSubstr("it has 2 axes, and the slot has 1"));
  EXPECT_THAT(Refusal(Slot({8, 4}, 0), At(Layout::Of(DType::kI32, {2, 3}))),
              HasSubstr("its axis 1 has 3, and the slot's has 4"));
  EXPECT_THAT(Refusal(Slot({8}, 0), At(Layout::Strided(DType::kI32, {4}, {0}))),
              HasSubstr("repeats its rows"));
  EXPECT_THAT(Refusal(Slot({8, 4}, 0), At(Layout::Strided(DType::kI32, {2, 4}, {8, 2}))),
              HasSubstr("do not lie one after another"));
}

}  // namespace
}  // namespace graphtree
