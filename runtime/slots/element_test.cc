// Every conversion against a reference that shares nothing with the code: values are computed with
// ldexp, and rounding looks for the nearest of all values that the target has.
#include "runtime/slots/element.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree::unpack {
namespace {

static_assert(SizeOf(kU8) == 1 && SizeOf(kBool) == 1 && SizeOf(kF16) == 2 && SizeOf(kBF16) == 2);
static_assert(SizeOf(kI32) == 4 && SizeOf(kF32) == 4 && SizeOf(kI64) == 8 && SizeOf(kF64) == 8);
static_assert(IsWhole(kU8) && IsWhole(kBool) && IsWhole(kI32) && IsWhole(kI64));
static_assert(!IsWhole(kF16) && !IsWhole(kBF16) && !IsWhole(kF32) && !IsWhole(kF64));

// A type of 16 bits: 1 for the sign, then the exponent, then the mantissa.
struct Small {
  uint8_t type;
  int mantissa_bits;
  int exponent_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint16_t infinity() const {
    return static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  }
  // REQUIRES: bits without a sign, at most infinity. Infinity counts as the number that would come
  // after the greatest one, which is where rounding has it.
  double ValueOf(uint16_t bits) const {
    const int exponent = bits >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias() - mantissa_bits);
  }
};

constexpr Small kHalf = {kF16, 10, 5};
constexpr Small kBrain = {kBF16, 7, 8};

// Looks for the number's two neighbours and compares it with the middle between them, which double
// holds exactly.
uint16_t Nearest(const Small& small, double number) {
  const uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  const double magnitude = std::fabs(number);
  uint16_t below = 0;
  uint16_t above = small.infinity();
  if (magnitude >= small.ValueOf(above)) return sign | above;
  while (above - below > 1) {
    const uint16_t middle = static_cast<uint16_t>((below + above) / 2);
    (small.ValueOf(middle) <= magnitude ? below : above) = middle;
  }
  const double middle = (small.ValueOf(below) + small.ValueOf(above)) / 2;
  const bool takes_above = magnitude > middle || (magnitude == middle && below % 2 == 1);
  return sign | (takes_above ? above : below);
}

uint64_t FromF32(float number, uint8_t to) { return Converted(BitsAs<uint32_t>(number), kF32, to); }
uint64_t FromF64(double number, uint8_t to) {
  return Converted(BitsAs<uint64_t>(number), kF64, to);
}
float AsFloat(uint64_t bits) { return BitsAs<float>(static_cast<uint32_t>(bits)); }

class SmallTest : public testing::TestWithParam<Small> {};
INSTANTIATE_TEST_SUITE_P(Both, SmallTest, testing::Values(kHalf, kBrain),
                         [](const auto& info) { return info.param.type == kF16 ? "F16" : "BF16"; });

TEST_P(SmallTest, EveryValueIsKeptByTheWiderTypesAndComesBack) {
  const Small small = GetParam();
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t magnitude = bits & 0x7fff;
    const uint64_t single = Converted(bits, small.type, kF32);
    const uint64_t wide = Converted(bits, small.type, kF64);
    if (magnitude > small.infinity()) {
      ASSERT_TRUE(std::isnan(AsFloat(single)) && std::isnan(BitsAs<double>(wide))) << bits;
      continue;
    }
    const double value = magnitude == small.infinity() ? std::numeric_limits<double>::infinity()
                                                       : small.ValueOf(magnitude);
    const double expected = bits >= 0x8000 ? -value : value;
    ASSERT_EQ(BitsAs<double>(wide), expected) << bits;
    ASSERT_EQ(AsFloat(single), expected) << bits;
    ASSERT_EQ(std::signbit(AsFloat(single)), bits >= 0x8000) << bits;
    ASSERT_EQ(Converted(single, kF32, small.type), bits);
    ASSERT_EQ(Converted(wide, kF64, small.type), bits);
  }
}

// The middle between two neighbours is a tie; the numbers right beside it are none. In double those
// are so near that a float cannot tell them from the tie.
TEST_P(SmallTest, TiesGoToTheEvenOneAndWhatIsBesideThemToTheNearest) {
  const Small small = GetParam();
  for (uint16_t below = 0; below < small.infinity(); ++below) {
    const double low = small.ValueOf(below);
    const double tie = (low + small.ValueOf(below + 1)) / 2;
    const double far = std::numeric_limits<double>::infinity();
    for (const double number : {tie, std::nextafter(tie, 0.0), std::nextafter(tie, far),
                                std::nextafter(low, 0.0), std::nextafter(low, far)}) {
      ASSERT_EQ(FromF64(number, small.type), Nearest(small, number)) << number;
      ASSERT_EQ(FromF64(-number, small.type), Nearest(small, -number)) << -number;
    }
    const float single = static_cast<float>(tie);
    if (single != tie) continue;  // below what a float can be
    for (const float number : {single, std::nextafterf(single, 0.0f),
                               std::nextafterf(single, std::numeric_limits<float>::infinity())}) {
      ASSERT_EQ(FromF32(number, small.type), Nearest(small, number)) << number;
      ASSERT_EQ(FromF32(-number, small.type), Nearest(small, -number)) << -number;
    }
  }
}

TEST_P(SmallTest, RandomNumbersGoToTheNearest) {
  const Small small = GetParam();
  const uint64_t seed = 20240517;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300000; ++i) {
    const auto single = BitsAs<float>(static_cast<uint32_t>(random()));
    if (!std::isnan(single)) {
      ASSERT_EQ(FromF32(single, small.type), Nearest(small, single)) << single;
    }
    // Exponents from far below to far above what the small type has.
    const double wide = std::ldexp(static_cast<double>(random()) - 0x1p63,
                                   static_cast<int>(random() % 330) - 63 - 170);
    ASSERT_EQ(FromF64(wide, small.type), Nearest(small, wide)) << wide;
  }
}

TEST(ElementTest, DoublesGoToTheNearestFloat) {
  const uint64_t seed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300000; ++i) {
    const double number = std::ldexp(static_cast<double>(random()) - 0x1p63,
                                     static_cast<int>(random() % 330) - 63 - 170);
    const float found = AsFloat(FromF64(number, kF32));
    if (std::isinf(found)) {
      ASSERT_GE(std::fabs(number), 0x1.ffffffp127) << number;
      continue;
    }
    const double error = std::fabs(number - found);
    for (const float other :
         {std::nextafterf(found, -INFINITY), std::nextafterf(found, INFINITY)}) {
      ASSERT_LE(error, std::fabs(number - other)) << number;
    }
  }
}

TEST(ElementTest, EdgesOfNumbers) {
  EXPECT_EQ(FromF32(65504, kF16), 0x7bffu);
  EXPECT_EQ(FromF32(std::nextafterf(65520, 0), kF16), 0x7bffu);
  EXPECT_EQ(FromF32(65520, kF16), 0x7c00u) << "the first that is nearer to infinity";
  EXPECT_EQ(FromF32(-65520, kF16), 0xfc00u);
  EXPECT_EQ(FromF32(0x1p-24f, kF16), 1u) << "the least half";
  EXPECT_EQ(FromF32(0x1p-25f, kF16), 0u) << "a tie between nothing and the least half";
  EXPECT_EQ(FromF32(0x1.000002p-25f, kF16), 1u);
  EXPECT_EQ(FromF32(-0x1p-30f, kF16), 0x8000u) << "the sign stays";
  EXPECT_EQ(FromF32(std::numeric_limits<float>::max(), kBF16), 0x7f80u);
  EXPECT_EQ(FromF64(1e300, kF16), 0x7c00u);
  EXPECT_EQ(FromF64(-1e300, kBF16), 0xff80u);
  EXPECT_EQ(FromF64(1e300, kF32), 0x7f800000u);
  EXPECT_EQ(FromF64(1e-300, kF16), 0u);
  EXPECT_EQ(FromF64(-1e-300, kBF16), 0x8000u);
  EXPECT_EQ(FromF64(-0.0, kF32), 0x80000000u);
  EXPECT_EQ(FromF32(-0.0f, kF64), 0x8000000000000000u);
}

TEST(ElementTest, InfinitiesStayInfinite) {
  const uint64_t infinities[] = {0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000};
  const uint8_t types[] = {kF16, kBF16, kF32, kF64};
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      const uint64_t from_sign = uint64_t{1} << (SizeOf(types[from]) * 8 - 1);
      const uint64_t to_sign = uint64_t{1} << (SizeOf(types[to]) * 8 - 1);
      EXPECT_EQ(Converted(infinities[from], types[from], types[to]), infinities[to]);
      EXPECT_EQ(Converted(infinities[from] | from_sign, types[from], types[to]),
                infinities[to] | to_sign);
    }
  }
}

// Processors disagree about the bits of a converted NaN, so these are not left to them: quiet, the
// sign kept, all else 0.
TEST(ElementTest, ANanKeepsItsSignAndNothingElse) {
  const uint8_t types[] = {kF16, kBF16, kF32, kF64};
  const uint64_t infinities[] = {0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000};
  const uint64_t quiet[] = {0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000};
  for (int from = 0; from < 4; ++from) {
    const uint64_t sign = uint64_t{1} << (SizeOf(types[from]) * 8 - 1);
    const uint64_t all = sign - 1;  // every bit but the sign
    for (const uint64_t nan : {infinities[from] | 1, quiet[from], quiet[from] | 5, all}) {
      for (int to = 0; to < 4; ++to) {
        const uint64_t to_sign = uint64_t{1} << (SizeOf(types[to]) * 8 - 1);
        const bool is_same = from == to;
        EXPECT_EQ(Converted(nan, types[from], types[to]), is_same ? nan : quiet[to]);
        EXPECT_EQ(Converted(nan | sign, types[from], types[to]),
                  is_same ? nan | sign : quiet[to] | to_sign);
      }
    }
  }
}

TEST(ElementTest, WholeNumbersAreKeptOrCutOff) {
  const auto converted = [](int64_t whole, uint8_t from, uint8_t to) {
    const uint64_t mask = SizeOf(from) == 8 ? ~uint64_t{0} : (uint64_t{1} << SizeOf(from) * 8) - 1;
    const uint64_t bits = Converted(static_cast<uint64_t>(whole) & mask, from, to);
    uint8_t written[8] = {};
    memcpy(written, &bits, SizeOf(to));
    return WholeOf(ReadElement(written, SizeOf(to)), to);
  };
  constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMost32 = std::numeric_limits<int32_t>::max();
  for (const int64_t whole : {kLeast32, int64_t{-1}, int64_t{0}, int64_t{1}, kMost32}) {
    EXPECT_EQ(converted(whole, kI32, kI64), whole);
    EXPECT_EQ(converted(whole, kI64, kI32), whole);
    EXPECT_EQ(converted(whole, kI64, kI64), whole);
  }
  for (int64_t whole = 0; whole < 256; ++whole) {
    for (const uint8_t type : {kI32, kI64}) {
      EXPECT_EQ(converted(whole, kU8, type), whole);
      EXPECT_EQ(converted(whole, type, kU8), whole);
      EXPECT_EQ(converted(whole - 256, type, kU8), whole) << "cut off";
    }
  }
  EXPECT_EQ(converted(kMost32 + 1, kI64, kI32), kLeast32);
  EXPECT_EQ(converted(kLeast32 - 1, kI64, kI32), kMost32);
  EXPECT_EQ(converted(kMost64, kI64, kI32), -1);
  EXPECT_EQ(converted(kLeast64, kI64, kI32), 0);
  EXPECT_EQ(converted(kMost64, kI64, kU8), 255);
  EXPECT_EQ(converted(kLeast64, kI64, kI64), kLeast64);
}

TEST(ElementTest, WholesBecomeWholesAndNumbersBecomeNumbers) {
  const std::vector<uint8_t> groups[] = {{kU8, kI32, kI64}, {kBool}, {kF16, kBF16, kF32, kF64}};
  for (const auto& from_group : groups) {
    for (const auto& to_group : groups) {
      for (const uint8_t from : from_group) {
        for (const uint8_t to : to_group) {
          EXPECT_EQ(Converts(from, to), &from_group == &to_group) << +from << " to " << +to;
        }
      }
    }
  }
}

TEST(ElementTest, AnElementIsWrittenWithoutTouchingItsNeighbours) {
  for (const uint32_t size : {1, 2, 4, 8}) {
    alignas(8) uint8_t memory[24];
    for (uint8_t& byte : memory) byte = 0xee;
    const uint64_t bits = 0x8182838485868788u;
    WriteElement(memory + 8, bits, size);
    for (uint32_t i = 0; i < sizeof(memory); ++i) {
      const bool is_written = i >= 8 && i < 8 + size;
      const uint32_t expected = is_written ? 0x88 - (i - 8) : 0xee;
      EXPECT_EQ(memory[i], expected) << "byte " << i << " of an element of " << size;
    }
    EXPECT_EQ(ReadElement(memory + 8, size), size == 8 ? bits : bits & ((1ull << size * 8) - 1));
  }
}

}  // namespace
}  // namespace graphtree::unpack
