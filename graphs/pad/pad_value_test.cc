// The bits of pad values, compared with the processor's own conversions, and by hand where the
// processor has none.
#include "graphs/pad/pad_value.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "device/base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::HasSubstr;

uint64_t BitsOf(PadValue value, DType type) {
  const absl::StatusOr<uint64_t> bits = value.BitsAs(type);
  EXPECT_THAT(bits, IsOk()) << value.ToString() << " as " << DTypeName(type);
  return bits.ok() ? *bits : 0xdeadbeef;
}

std::string WhyNot(PadValue value, DType type) {
  const absl::StatusOr<uint64_t> bits = value.BitsAs(type);
  EXPECT_FALSE(bits.ok()) << value.ToString() << " as " << DTypeName(type) << " is " << *bits;
  return std::string(bits.status().message());
}

template <typename To, typename From>
To SameBits(From from) {
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

TEST(PadValueTest, WholeNumbersAreThemselves) {
  EXPECT_EQ(BitsOf(0, DType::kU8), 0u);
  EXPECT_EQ(BitsOf(255, DType::kU8), 255u);
  EXPECT_EQ(BitsOf(7.0, DType::kU8), 7u);
  EXPECT_EQ(BitsOf(true, DType::kBool), 1u);
  EXPECT_EQ(BitsOf(-1, DType::kI32), 0xffffffffu);
  EXPECT_EQ(BitsOf(std::numeric_limits<int32_t>::min(), DType::kI32), 0x80000000u);
  EXPECT_EQ(BitsOf(std::numeric_limits<int64_t>::min(), DType::kI64), uint64_t{1} << 63);
  EXPECT_EQ(BitsOf(std::numeric_limits<int64_t>::max(), DType::kI64), ~uint64_t{0} >> 1);
  EXPECT_EQ(BitsOf(std::numeric_limits<int64_t>::max() - 1, DType::kI64), (~uint64_t{0} >> 1) - 1);
}

TEST(PadValueTest, WhatATypeCannotHoldIsAnErrorThatSaysWhy) {
  EXPECT_EQ(WhyNot(256, DType::kU8),
            "a tensor of u8 cannot hold 256: it takes whole numbers from 0 to 255");
  EXPECT_EQ(WhyNot(2, DType::kBool),
            "a tensor of bool cannot hold 2: it takes whole numbers from 0 to 1");
  EXPECT_EQ(WhyNot(0.5, DType::kI32), "a tensor of i32 cannot hold 0.5: that is no whole number");
  EXPECT_EQ(WhyNot(1e6, DType::kF16),
            "a tensor of f16 cannot hold 1000000: it would become infinite");
  EXPECT_THAT(WhyNot(-1, DType::kU8), HasSubstr("cannot hold -1"));
  EXPECT_THAT(WhyNot(2147483648u, DType::kI32), HasSubstr("from -2147483648 to 2147483647"));
  EXPECT_THAT(WhyNot(~uint64_t{0}, DType::kI64), HasSubstr("cannot hold 18446744073709551615"));
  EXPECT_THAT(WhyNot(NAN, DType::kI64), HasSubstr("cannot hold nan: that is no whole number"));
  EXPECT_THAT(WhyNot(-INFINITY, DType::kU8), HasSubstr("cannot hold -inf"));
  EXPECT_THAT(WhyNot(1e300, DType::kF32), HasSubstr("cannot hold 1e+300"));
  EXPECT_THAT(WhyNot(3.4e38L * 10, DType::kBF16), HasSubstr("would become infinite"));
}

TEST(PadValueTest, HalvesByHand) {
  EXPECT_EQ(BitsOf(0, DType::kF16), 0u);
  EXPECT_EQ(BitsOf(-0.0, DType::kF16), 0x8000u);
  EXPECT_EQ(BitsOf(1, DType::kF16), 0x3c00u);
  EXPECT_EQ(BitsOf(-2, DType::kF16), 0xc000u);
  EXPECT_EQ(BitsOf(65504, DType::kF16), 0x7bffu);
  EXPECT_EQ(BitsOf(65519.99, DType::kF16), 0x7bffu);  // rounds down to the largest
  EXPECT_THAT(WhyNot(65520, DType::kF16), HasSubstr("infinite"));
  EXPECT_EQ(BitsOf(INFINITY, DType::kF16), 0x7c00u);
  EXPECT_EQ(BitsOf(-INFINITY, DType::kF16), 0xfc00u);
  EXPECT_EQ(BitsOf(NAN, DType::kF16), 0x7e00u);
  EXPECT_EQ(BitsOf(std::ldexp(1.0, -24), DType::kF16), 1u);    // the smallest
  EXPECT_EQ(BitsOf(std::ldexp(1.0, -25), DType::kF16), 0u);    // a tie, to even
  EXPECT_EQ(BitsOf(std::ldexp(1.5, -24), DType::kF16), 2u);    // a tie, to even
  EXPECT_EQ(BitsOf(std::ldexp(1.0, -14), DType::kF16), 0x400u);
  EXPECT_EQ(BitsOf(std::ldexp(0.99999, -14), DType::kF16), 0x400u);  // rounded up to normal
  EXPECT_EQ(BitsOf(2049, DType::kF16), 0x6800u);  // ties to even
  EXPECT_EQ(BitsOf(2051, DType::kF16), 0x6802u);
  EXPECT_EQ(BitsOf(1, DType::kBF16), 0x3f80u);
  EXPECT_EQ(BitsOf(-INFINITY, DType::kBF16), 0xff80u);
  EXPECT_EQ(BitsOf(257, DType::kBF16), 0x4380u);  // a tie, to even
  EXPECT_EQ(BitsOf(259, DType::kBF16), 0x4382u);
}

// Of random bits, so that all exponents come.
TEST(PadValueTest, FloatsAsTheProcessorRoundsThem) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const double number = SameBits<double>(random());
    if (std::isnan(number)) continue;
    EXPECT_EQ(BitsOf(number, DType::kF64), SameBits<uint64_t>(number));
    // Near the floats, not only far beyond them.
    const double small = SameBits<float>(static_cast<uint32_t>(random())) * (1 + 1e-8);
    const float rounded = static_cast<float>(small);
    if (std::isnan(small) || (std::isinf(rounded) && !std::isinf(small))) continue;
    EXPECT_EQ(BitsOf(small, DType::kF32), SameBits<uint32_t>(rounded)) << small;
  }
}

// A float cannot hold it, and a double on the way would round twice.
TEST(PadValueTest, LargeWholeNumbersAreRoundedOnce) {
  const int64_t above = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;  // just above a tie of f32
  EXPECT_EQ(BitsOf(above, DType::kF32), SameBits<uint32_t>(std::ldexp(1.0f, 60)) + 1);
  EXPECT_EQ(BitsOf(above - 1, DType::kF32), SameBits<uint32_t>(std::ldexp(1.0f, 60)));
}

}  // namespace
}  // namespace graphtree
