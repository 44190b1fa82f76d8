// Elements of every type, tolerances, and bytes that no run settles.
#include "graphs/check/element_compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

template <typename T>
Bytes BytesFrom(std::vector<T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The element that differs, or -1.
template <typename T>
int64_t First(DType type, std::vector<T> run, std::vector<T> replay, Tolerance tolerance = {}) {
  const Bytes one = BytesFrom(run);
  const auto found = FirstDifference(type, one, one, BytesFrom(replay), tolerance);
  return found.has_value() ? static_cast<int64_t>(found->element) : -1;
}

TEST(ElementCompareTest, EveryTypeWithoutTolerance) {
  EXPECT_EQ(First<uint8_t>(DType::kU8, {1, 2, 3}, {1, 2, 4}), 2);
  EXPECT_EQ(First<int32_t>(DType::kI32, {1, -2, 3}, {1, -2, 3}), -1);
  EXPECT_EQ(First<int32_t>(DType::kI32, {1, -2, 3}, {1, 2, 3}), 1);
  EXPECT_EQ(First<int64_t>(DType::kI64, {int64_t{1} << 60}, {(int64_t{1} << 60) + 1}), 0)
      << "they are equal as doubles";
  EXPECT_EQ(First<float>(DType::kF32, {1, 2}, {1, 2.00001f}), 1);
  EXPECT_EQ(First<double>(DType::kF64, {1, 2}, {1, 2}), -1);
  EXPECT_EQ(First<float>(DType::kF32, {0.0f}, {-0.0f}), -1) << "equal numbers";
}

TEST(ElementCompareTest, Tolerances) {
  EXPECT_EQ(First<float>(DType::kF32, {100, 1}, {101, 1}, {.relative = 0.02}), -1);
  EXPECT_EQ(First<float>(DType::kF32, {100, 1}, {103, 1}, {.relative = 0.02}), 0);
  EXPECT_EQ(First<float>(DType::kF32, {0, 1}, {0.001f, 1}, {.absolute = 0.01}), -1);
  EXPECT_EQ(First<int32_t>(DType::kI32, {100, 7}, {101, 9}, {.absolute = 1}), 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(First<float>(DType::kF32, {nan}, {-nan}), -1);
  EXPECT_EQ(First<float>(DType::kF32, {1}, {nan}, {.absolute = 1e30}), 0);
  EXPECT_EQ(First<float>(DType::kF32, {1}, {infinity}, {.absolute = 1e30}), 0);
}

TEST(ElementCompareTest, ShortFloats) {
  // 1, 2, the smallest number, 65504, one above one.
  const std::vector<uint16_t> halves = {0x3c00, 0x4000, 0x0001, 0x7bff, 0x3c01};
  EXPECT_EQ(First<uint16_t>(DType::kF16, halves, halves), -1);
  EXPECT_EQ(First<uint16_t>(DType::kF16, {0x3c00}, {0x3c01}, {.relative = 0.001}), -1);
  EXPECT_EQ(First<uint16_t>(DType::kF16, {0x3c00}, {0x3c01}, {.relative = 0.0009}), 0);
  EXPECT_EQ(First<uint16_t>(DType::kF16, {0x0000}, {0x0001}, {.absolute = 6e-8}), -1);
  EXPECT_EQ(First<uint16_t>(DType::kF16, {0x7c00}, {0x7bff}, {.absolute = 1e9}), 0) << "infinity";
  EXPECT_EQ(First<uint16_t>(DType::kBF16, {0x3f80}, {0x3f81}, {.relative = 0.008}), -1);
  EXPECT_EQ(First<uint16_t>(DType::kBF16, {0x3f80}, {0x3f81}, {.relative = 0.007}), 0);
}

TEST(ElementCompareTest, WhatNoRunSettlesIsNotCompared) {
  const Bytes run = BytesFrom<int32_t>({1, 0x5a5a5a5a, 3});
  const Bytes again = BytesFrom<int32_t>({1, -0x5a5a5a5b, 3});
  EXPECT_FALSE(FirstDifference(DType::kI32, run, again, BytesFrom<int32_t>({1, 77, 3}), {}));
  const auto found =
      FirstDifference(DType::kI32, run, again, BytesFrom<int32_t>({1, 77, 4}), {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->element, 2u);
  EXPECT_THAT(found->text, HasSubstr("element 2 is 4 in the replay, and 3 in a run"));
}

}  // namespace
}  // namespace graphtree
