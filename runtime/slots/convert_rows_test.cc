// Runs of elements of every pair of types, at any address, against one element at a time; and every
// whole number that a type can and cannot hold, at every place of a run.
#include "runtime/slots/convert_rows.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/slots/element.h"

namespace graphtree {
namespace {

constexpr DType kTypes[] = {DType::kU8,  DType::kBool, DType::kI32, DType::kI64,
                            DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMost32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();

uint8_t Number(DType type) { return static_cast<uint8_t>(type); }

uint64_t BitsAt(const uint8_t* at, DType type) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, BytesOf(type));
  return bits;
}

// Random bits; a whole number is from 0 to 127, which every type can hold.
uint64_t RandomBits(std::mt19937_64& random, DType type) {
  return unpack::IsWhole(Number(type)) ? random() % 128 : random();
}

TEST(ConvertRunTest, EveryPairAtEveryAddress) {
  const uint64_t seed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (const DType from_type : kTypes) {
    for (const DType to_type : kTypes) {
      if (!unpack::Converts(Number(from_type), Number(to_type))) continue;
      SCOPED_TRACE(testing::Message() << DTypeName(from_type) << " to " << DTypeName(to_type));
      for (int64_t count = 0; count < 40; ++count) {
        const size_t from_at = random() % 16;
        const size_t to_at = random() % 16;
        std::vector<uint8_t> from(from_at + count * BytesOf(from_type));
        for (int64_t i = 0; i < count; ++i) {
          const uint64_t bits = RandomBits(random, from_type);
          std::memcpy(from.data() + from_at + i * BytesOf(from_type), &bits, BytesOf(from_type));
        }
        std::vector<uint8_t> to(to_at + count * BytesOf(to_type) + 16, 0xee);
        std::vector<uint8_t> expected = to;
        for (int64_t i = 0; i < count; ++i) {
          const uint64_t bits =
              unpack::Converted(BitsAt(from.data() + from_at + i * BytesOf(from_type), from_type),
                                Number(from_type), Number(to_type));
          std::memcpy(expected.data() + to_at + i * BytesOf(to_type), &bits, BytesOf(to_type));
        }
        ASSERT_EQ(ConvertRun(from.data() + from_at, from_type, to.data() + to_at, to_type, count),
                  kAllConverted);
        ASSERT_EQ(to, expected) << count << " elements";
      }
    }
  }
}

struct Whole {
  DType from;
  DType to;
  int64_t value;
  bool holds;
};

constexpr Whole kWholes[] = {
    {DType::kI64, DType::kI32, kMost32, true},
    {DType::kI64, DType::kI32, kMost32 + 1, false},
    {DType::kI64, DType::kI32, kLeast32, true},
    {DType::kI64, DType::kI32, kLeast32 - 1, false},
    {DType::kI64, DType::kI32, kMost64, false},
    {DType::kI64, DType::kI32, kLeast64, false},
    {DType::kI64, DType::kI32, int64_t{1} << 32, false},
    {DType::kI64, DType::kU8, 255, true},
    {DType::kI64, DType::kU8, 256, false},
    {DType::kI64, DType::kU8, -1, false},
    {DType::kI64, DType::kU8, int64_t{1} << 32, false},
    {DType::kI32, DType::kU8, 255, true},
    {DType::kI32, DType::kU8, 256, false},
    {DType::kI32, DType::kU8, -1, false},
    {DType::kI32, DType::kI64, kLeast32, true},
    {DType::kU8, DType::kI32, 255, true},
    {DType::kU8, DType::kI64, 255, true},
};

TEST(ConvertRunTest, TheFirstWholeNumberThatIsNotHeldIsTold) {
  constexpr int64_t kCount = 19;
  for (const Whole& whole : kWholes) {
    SCOPED_TRACE(testing::Message() << whole.value << " of " << DTypeName(whole.from) << " in "
                                    << DTypeName(whole.to));
    for (int64_t at = 0; at < kCount; ++at) {
      const uint32_t size = BytesOf(whole.from);
      std::vector<uint8_t> from(kCount * size);
      // The one after the first does not fit either.
      for (int64_t i = at; i < std::min(at + 2, kCount); ++i) {
        std::memcpy(from.data() + i * size, &whole.value, size);
      }
      std::vector<uint8_t> to(kCount * BytesOf(whole.to));
      ASSERT_EQ(ConvertRun(from.data(), whole.from, to.data(), whole.to, kCount),
                whole.holds ? kAllConverted : at);
      ASSERT_EQ(WholeAt(from.data(), whole.from, at), whole.value);
      if (whole.holds) {
        ASSERT_EQ(WholeAt(to.data(), whole.to, at), whole.value);
      }
    }
  }
}

TEST(ConvertRunTest, NothingIsReadForNoElements) {
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      if (!unpack::Converts(Number(from), Number(to))) continue;
      EXPECT_EQ(ConvertRun(nullptr, from, nullptr, to, 0), kAllConverted);
    }
  }
}

TEST(CanBeTest, WholeNumbersExactlyAndNumbersAlways) {
  struct Case {
    DType type;
    double value;
    bool can_be;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Case& at : std::vector<Case>{{DType::kBool, 0, true},
                                          {DType::kBool, 1, true},
                                          {DType::kBool, 2, false},
                                          {DType::kBool, 0.5, false},
                                          {DType::kBool, nan, false},
                                          {DType::kU8, 0, true},
                                          {DType::kU8, -0.0, true},
                                          {DType::kU8, 255, true},
                                          {DType::kU8, 256, false},
                                          {DType::kU8, -1, false},
                                          {DType::kU8, 0.5, false},
                                          {DType::kU8, nan, false},
                                          {DType::kI32, 2147483647, true},
                                          {DType::kI32, 2147483648.0, false},
                                          {DType::kI32, -2147483648.0, true},
                                          {DType::kI32, -2147483649.0, false},
                                          {DType::kI32, infinity, false},
                                          {DType::kI32, 1.5, false},
                                          {DType::kI64, 0x1p62, true},
                                          {DType::kI64, 0x1p63, false},
                                          {DType::kI64, -0x1p63, true},
                                          {DType::kI64, -0x1.0000000000001p63, false},
                                          {DType::kI64, nan, false},
                                          {DType::kI64, -infinity, false},
                                          {DType::kF16, 1e30, true},
                                          {DType::kF16, nan, true},
                                          {DType::kBF16, 0.1, true},
                                          {DType::kF32, infinity, true},
                                          {DType::kF64, 0.1, true}}) {
    EXPECT_EQ(CanBe(at.type, at.value), at.can_be) << at.value << " as " << DTypeName(at.type);
  }
}

TEST(BitsOfTest, AValueAsEveryType) {
  EXPECT_EQ(BitsOf(DType::kBool, 1), 1u);
  EXPECT_EQ(BitsOf(DType::kU8, 255), 255u);
  EXPECT_EQ(static_cast<uint32_t>(BitsOf(DType::kI32, -1)), 0xffffffffu);
  EXPECT_EQ(BitsOf(DType::kI64, -0x1p63), 0x8000000000000000u);
  EXPECT_EQ(BitsOf(DType::kF16, 1), 0x3c00u);
  EXPECT_EQ(BitsOf(DType::kF16, 1e30), 0x7c00u);
  EXPECT_EQ(BitsOf(DType::kBF16, -2), 0xc000u);
  EXPECT_EQ(BitsOf(DType::kF32, 1), 0x3f800000u);
  EXPECT_EQ(BitsOf(DType::kF64, -0.0), 0x8000000000000000u);
  // Just above the middle between 1 and the half after it: rounding twice gives 1.
  EXPECT_EQ(BitsOf(DType::kF16, 1 + 0x1p-11 + 0x1p-40), 0x3c01u);
  EXPECT_EQ(BitsOf(DType::kBF16, std::numeric_limits<double>::quiet_NaN()), 0x7fc0u);
}

TEST(ExactTextTest, IsReadBackAsTheSameNumber) {
  EXPECT_EQ(ExactText(256), "256");
  EXPECT_EQ(ExactText(-0.5), "-0.5");
  EXPECT_EQ(ExactText(0.1), "0.1");
  EXPECT_EQ(ExactText(2147483648.0), "2147483648");
  EXPECT_EQ(ExactText(16777217.5), "16777217.5");
  EXPECT_EQ(ExactText(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace graphtree
