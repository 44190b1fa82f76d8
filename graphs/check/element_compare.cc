// Reads elements out of bytes.
#include "graphs/check/element_compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace graphtree {
namespace {

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

double HalfToDouble(uint16_t half) {
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  if (exponent == 0x1f) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 0x400, exponent - 25);
}

double ToDouble(DType type, const uint8_t* bytes) {
  switch (type) {
    case DType::kU8:
    case DType::kBool:
      return *bytes;
    case DType::kI32:
      return Load<int32_t>(bytes);
    case DType::kI64:
      return static_cast<double>(Load<int64_t>(bytes));
    case DType::kF16:
      return HalfToDouble(Load<uint16_t>(bytes));
    case DType::kBF16: {
      const uint32_t word = uint32_t{Load<uint16_t>(bytes)} << 16;
      return Load<float>(reinterpret_cast<const uint8_t*>(&word));
    }
    case DType::kF32:
      return Load<float>(bytes);
    case DType::kF64:
      return Load<double>(bytes);
  }
  return 0;
}

bool IsWhole(DType type) {
  return type == DType::kU8 || type == DType::kBool || type == DType::kI32 || type == DType::kI64;
}

}  // namespace

std::optional<ElementDifference> FirstDifference(DType type, const Bytes& run, const Bytes& again,
                                                 const Bytes& replay, const Tolerance& tolerance) {
  const uint64_t each = BytesOf(type);
  const uint64_t count = std::min({run.size(), again.size(), replay.size()}) / each;
  for (uint64_t i = 0; i < count; ++i) {
    const uint8_t* const one = run.data() + i * each;
    const uint8_t* const found = replay.data() + i * each;
    if (std::memcmp(one, found, each) == 0) continue;
    if (std::memcmp(one, again.data() + i * each, each) != 0) continue;
    const double expected = ToDouble(type, one);
    const double left = ToDouble(type, found);
    // Large integers may be equal as doubles and are not.
    if (!(IsWhole(type) && tolerance.is_none()) && tolerance.Allows(expected, left)) continue;
    return ElementDifference{i, absl::StrCat("element ", i, " is ", left, " in the replay, and ",
                                             expected, " in a run of its body")};
  }
  return std::nullopt;
}

}  // namespace graphtree
