// One element of a slot, as bits: how large it is, and how it becomes one of another type. Host
// code and CUDA code compute the same bits.
//
//   whole numbers   u8, bool, i32, i64    kept where the target can hold them, else cut off
//   numbers         f16, bf16, f32, f64   rounded to the nearest, once, ties to even
//
// A NaN stays one, with its sign. Its other bits are lost where the type changes: processors
// disagree about them, so no processor is asked to convert a NaN.
//
// A whole number never becomes a number, nor the other way round: whoever stages the one for the
// other has made a mistake (Converts).
#ifndef GRAPHTREE_RUNTIME_SLOTS_ELEMENT_H_
#define GRAPHTREE_RUNTIME_SLOTS_ELEMENT_H_

#include <cstdint>
#include <cstring>

#include "device/base/host_device.h"

namespace graphtree::unpack {

// DType's values, as plain bytes that CUDA code can read; convert_rows.cc holds the two together.
enum Element : uint8_t { kU8, kBool, kI32, kI64, kF16, kBF16, kF32, kF64 };

GRAPHTREE_HOST_DEVICE constexpr uint32_t SizeOf(uint8_t type) {
  switch (type) {
    case kU8:
    case kBool:
      return 1;
    case kF16:
    case kBF16:
      return 2;
    case kI32:
    case kF32:
      return 4;
    default:
      return 8;
  }
}

GRAPHTREE_HOST_DEVICE constexpr bool IsWhole(uint8_t type) { return type <= kI64; }

// Whether a slot of type `to` may be staged from `from`.
GRAPHTREE_HOST_DEVICE constexpr bool Converts(uint8_t from, uint8_t to) {
  if (from == to) return true;
  if (from == kBool || to == kBool) return false;
  return IsWhole(from) == IsWhole(to);
}

GRAPHTREE_HOST_DEVICE inline uint64_t ReadElement(const uint8_t* at, uint32_t size) {
  switch (size) {
    case 1:
      return *at;
    case 2:
      return *reinterpret_cast<const uint16_t*>(at);
    case 4:
      return *reinterpret_cast<const uint32_t*>(at);
    default:
      return *reinterpret_cast<const uint64_t*>(at);
  }
}

GRAPHTREE_HOST_DEVICE inline void WriteElement(uint8_t* at, uint64_t bits, uint32_t size) {
  switch (size) {
    case 1:
      *at = static_cast<uint8_t>(bits);
      return;
    case 2:
      *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(bits);
      return;
    case 4:
      *reinterpret_cast<uint32_t*>(at) = static_cast<uint32_t>(bits);
      return;
    default:
      *reinterpret_cast<uint64_t*>(at) = bits;
  }
}

template <typename To, typename From>
GRAPHTREE_HOST_DEVICE inline To BitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

GRAPHTREE_HOST_DEVICE inline int64_t WholeOf(uint64_t bits, uint8_t type) {
  if (type == kI32) return static_cast<int32_t>(static_cast<uint32_t>(bits));
  return static_cast<int64_t>(bits);
}

GRAPHTREE_HOST_DEVICE inline bool IsNan(uint64_t bits, uint8_t type) {
  switch (type) {
    case kF16:
      return (bits & 0x7fff) > 0x7c00;
    case kBF16:
      return (bits & 0x7fff) > 0x7f80;
    case kF32:
      return (bits & 0x7fffffffu) > 0x7f800000u;
    default:
      return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
  }
}

GRAPHTREE_HOST_DEVICE inline uint64_t QuietNan(bool is_negative, uint8_t type) {
  const uint64_t sign = is_negative ? uint64_t{1} << (SizeOf(type) * 8 - 1) : 0;
  switch (type) {
    case kF16:
      return sign | 0x7e00;
    case kBF16:
      return sign | 0x7fc0;
    case kF32:
      return sign | 0x7fc00000u;
    default:
      return sign | 0x7ff8000000000000u;
  }
}

// REQUIRES: not the bits of a NaN; the same below.
GRAPHTREE_HOST_DEVICE inline float FloatOfHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 0x1f;
  uint32_t mantissa = half & 0x3ff;
  if (exponent == 0x1f) return BitsAs<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    if (mantissa == 0) return BitsAs<float>(sign);
    // Below the normal halves: shift the first one out of the mantissa.
    exponent = 1;
    while ((mantissa & 0x400) == 0) {
      mantissa <<= 1;
      --exponent;
    }
    mantissa &= 0x3ff;
  }
  return BitsAs<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

// `value` without its lowest `shift` bits, rounded to the nearest, ties to even.
GRAPHTREE_HOST_DEVICE inline uint32_t RoundedShift(uint32_t value, uint32_t shift) {
  const uint32_t half = (uint32_t{1} << (shift - 1)) - 1;
  return (value + half + (value >> shift & 1)) >> shift;
}

GRAPHTREE_HOST_DEVICE inline uint16_t HalfOf(float number) {
  const uint32_t bits = BitsAs<uint32_t>(number);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // rounds to more than the largest half
  if (magnitude < 0x33000000u) return sign;  // rounds to nothing; 0x33000000 itself ties to even
  if (magnitude < 0x38800000u) {             // below the normal halves
    const uint32_t exponent = magnitude >> 23;
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    return sign | static_cast<uint16_t>(RoundedShift(mantissa, 126 - exponent));
  }
  return sign | static_cast<uint16_t>(RoundedShift(magnitude - 0x38000000u, 13));
}

GRAPHTREE_HOST_DEVICE inline uint16_t BrainOf(float number) {
  return static_cast<uint16_t>(RoundedShift(BitsAs<uint32_t>(number), 16));
}

// The float just below `number` in magnitude, with its last bit set if anything was lost. Rounded
// once more to fewer bits, it gives what `number` itself gives; the nearest float may be a tie that
// `number` is not.
GRAPHTREE_HOST_DEVICE inline float FloatThatRemembers(double number) {
  const float nearest = static_cast<float>(number);
  const double found = nearest;
  if (found == number) return nearest;
  const bool is_beyond = number < 0 ? found < number : found > number;
  return BitsAs<float>((BitsAs<uint32_t>(nearest) - (is_beyond ? 1 : 0)) | 1);
}

GRAPHTREE_HOST_DEVICE inline double NumberOf(uint64_t bits, uint8_t type) {
  switch (type) {
    case kF16:
      return FloatOfHalf(static_cast<uint16_t>(bits));
    case kBF16:
      return BitsAs<float>(static_cast<uint32_t>(bits) << 16);
    case kF32:
      return BitsAs<float>(static_cast<uint32_t>(bits));
    default:
      return BitsAs<double>(bits);
  }
}

// `number` may be a NaN.
GRAPHTREE_HOST_DEVICE inline uint64_t BitsOfNumber(double number, uint8_t type) {
  const uint64_t bits = BitsAs<uint64_t>(number);
  if (IsNan(bits, kF64)) return QuietNan(bits >> 63 != 0, type);
  switch (type) {
    case kF16:
      return HalfOf(FloatThatRemembers(number));
    case kBF16:
      return BrainOf(FloatThatRemembers(number));
    case kF32:
      return BitsAs<uint32_t>(static_cast<float>(number));
    default:
      return bits;
  }
}

// REQUIRES: Converts(from, to).
GRAPHTREE_HOST_DEVICE inline uint64_t Converted(uint64_t bits, uint8_t from, uint8_t to) {
  if (from == to) return bits;
  if (IsWhole(from)) return static_cast<uint64_t>(WholeOf(bits, from));
  if (IsNan(bits, from)) return QuietNan((bits >> (SizeOf(from) * 8 - 1) & 1) != 0, to);
  return BitsOfNumber(NumberOf(bits, from), to);
}

}  // namespace graphtree::unpack

#endif  // GRAPHTREE_RUNTIME_SLOTS_ELEMENT_H_
