// One way for all floats: scale the number so that its last kept bit is worth 1, and round.
#include "graphs/pad/pad_value.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphtree {
namespace {

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
};

struct WholeRange {
  long double least;
  long double most;
};

// Nothing for a type of whole numbers.
std::optional<FloatFormat> FloatFormatOf(DType type) {
  switch (type) {
    case DType::kF16: return FloatFormat{5, 10};
    case DType::kBF16: return FloatFormat{8, 7};
    case DType::kF32: return FloatFormat{8, 23};
    case DType::kF64: return FloatFormat{11, 52};
    default: return std::nullopt;
  }
}

WholeRange WholeRangeOf(DType type) {
  switch (type) {
    case DType::kBool: return {0, 1};
    case DType::kU8: return {0, 255};
    case DType::kI32: return {-2147483648.0L, 2147483647.0L};
    default: return {-9223372036854775808.0L, 9223372036854775807.0L};
  }
}

// Nothing if a finite number is too large for the format.
std::optional<uint64_t> BitsInFormat(long double number, FloatFormat format) {
  const uint64_t infinity = ((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  const uint64_t sign = std::signbit(number)
                            ? uint64_t{1} << (format.exponent_bits + format.mantissa_bits)
                            : 0;
  if (std::isnan(number)) return sign | infinity | uint64_t{1} << (format.mantissa_bits - 1);
  if (std::isinf(number)) return sign | infinity;
  if (number == 0) return sign;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  // Numbers below the normal ones share the smallest exponent.
  const int exponent = std::max(std::ilogb(number), 1 - bias);
  const long double scaled = std::ldexp(std::fabs(number), format.mantissa_bits - exponent);
  if (exponent > bias) return std::nullopt;
  // A normal number brings its leading bit along, which adds 1 to the exponent before it. So does
  // one that is rounded up to the next power of two.
  const uint64_t bits = (static_cast<uint64_t>(exponent + bias - 1) << format.mantissa_bits) +
                        static_cast<uint64_t>(std::nearbyint(scaled));
  if (bits >= infinity) return std::nullopt;
  return sign | bits;
}

}  // namespace

std::string PadValue::ToString() const {
  const bool is_whole = std::nearbyint(number_) == number_ && std::fabs(number_) < 1e20L;
  return is_whole ? absl::StrFormat("%.0f", number_) : absl::StrFormat("%g", number_);
}

absl::StatusOr<uint64_t> PadValue::BitsAs(DType type) const {
  const auto refused = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of ", DTypeName(type), " cannot hold ", ToString(), ": ", why));
  };
  if (const std::optional<FloatFormat> format = FloatFormatOf(type)) {
    const std::optional<uint64_t> bits = BitsInFormat(number_, *format);
    if (bits.has_value()) return *bits;
    return refused("it would become infinite");
  }
  if (!std::isfinite(number_) || std::nearbyint(number_) != number_) {
    return refused("that is no whole number");
  }
  const WholeRange range = WholeRangeOf(type);
  if (number_ < range.least || number_ > range.most) {
    return refused(absl::StrFormat("it takes whole numbers from %.0f to %.0f", range.least,
                                   range.most));
  }
  const uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(number_));
  return type == DType::kI32 ? bits & 0xffffffffu : bits;
}

}  // namespace graphtree
