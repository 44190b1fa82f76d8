// One loop for each pair of types that servers use; the rest goes element by element.
#include "runtime/slots/convert_rows.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "runtime/slots/element.h"

namespace graphtree {
namespace {

static_assert(static_cast<int>(DType::kU8) == unpack::kU8 &&
                  static_cast<int>(DType::kBool) == unpack::kBool &&
                  static_cast<int>(DType::kI32) == unpack::kI32 &&
                  static_cast<int>(DType::kI64) == unpack::kI64 &&
                  static_cast<int>(DType::kF16) == unpack::kF16 &&
                  static_cast<int>(DType::kBF16) == unpack::kBF16 &&
                  static_cast<int>(DType::kF32) == unpack::kF32 &&
                  static_cast<int>(DType::kF64) == unpack::kF64,
              "CUDA code knows the types by these numbers");

uint64_t LoadBits(const uint8_t* at, uint32_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return bits;
}

bool HoldsWhole(DType type, int64_t whole) {
  switch (type) {
    case DType::kU8:
      return whole >= 0 && whole <= 255;
    case DType::kI32:
      return whole >= std::numeric_limits<int32_t>::min() &&
             whole <= std::numeric_limits<int32_t>::max();
    default:
      return true;
  }
}

// The commonest pair: token ids. Without a branch in the loop, so that compilers widen it.
int64_t NarrowRun(const uint8_t* from, uint8_t* to, int64_t count) {
  uint64_t lost = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t whole;
    std::memcpy(&whole, from + i * sizeof(whole), sizeof(whole));
    const auto narrow = static_cast<int32_t>(whole);
    std::memcpy(to + i * sizeof(narrow), &narrow, sizeof(narrow));
    lost |= static_cast<uint64_t>(whole ^ narrow);
  }
  if (lost == 0) return kAllConverted;
  int64_t first = 0;
  while (HoldsWhole(DType::kI32, WholeAt(from, DType::kI64, first))) ++first;
  return first;
}

}  // namespace

int64_t WholeAt(const uint8_t* from, DType type, int64_t index) {
  const uint32_t size = BytesOf(type);
  return unpack::WholeOf(LoadBits(from + index * size, size), static_cast<uint8_t>(type));
}

int64_t ConvertRun(const uint8_t* from, DType from_type, uint8_t* to, DType to_type,
                   int64_t count) {
  const uint32_t from_size = BytesOf(from_type);
  if (from_type == to_type) {
    if (count > 0) std::memcpy(to, from, count * from_size);
    return kAllConverted;
  }
  if (from_type == DType::kI64 && to_type == DType::kI32) return NarrowRun(from, to, count);
  const uint32_t to_size = BytesOf(to_type);
  const bool is_whole = unpack::IsWhole(static_cast<uint8_t>(from_type));
  for (int64_t i = 0; i < count; ++i) {
    if (is_whole && !HoldsWhole(to_type, WholeAt(from, from_type, i))) return i;
    const uint64_t bits =
        unpack::Converted(LoadBits(from + i * from_size, from_size),
                          static_cast<uint8_t>(from_type), static_cast<uint8_t>(to_type));
    std::memcpy(to + i * to_size, &bits, to_size);
  }
  return kAllConverted;
}

bool CanBe(DType type, double value) {
  if (type == DType::kBool) return value == 0 || value == 1;
  if (!unpack::IsWhole(static_cast<uint8_t>(type))) return true;
  constexpr double kMost = 9223372036854775808.0;
  if (!(value >= -kMost && value < kMost)) return false;
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value && HoldsWhole(type, whole);
}

uint64_t BitsOf(DType type, double value) {
  if (unpack::IsWhole(static_cast<uint8_t>(type))) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  return unpack::BitsOfNumber(value, static_cast<uint8_t>(type));
}

std::string ExactText(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

}  // namespace graphtree
