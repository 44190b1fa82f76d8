// The number that a tensor is padded with, and its bits as an element of the tensor's type.
//
//   on.Pad(std::move(scores), {rows, 512}, -INFINITY);
//   on.Pad(std::move(tokens), {batch, 128}, 0);
//
//   whole numbers   u8, bool, i32, i64    the number itself; an error where the type has no such
//   numbers         f16, bf16, f32, f64   rounded to the nearest, ties to even; an error where a
//                                         finite number would become infinite
//
// A long double holds every number of the types above, so nothing is rounded before the type is
// known.
//
// Pure.
#ifndef GRAPHTREE_GRAPHS_PAD_PAD_VALUE_H_
#define GRAPHTREE_GRAPHS_PAD_PAD_VALUE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"
#include "graphs/layout.h"

namespace graphtree {

class PadValue {
 public:
  static_assert(std::numeric_limits<long double>::digits >= 64, "holds every i64");

  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  PadValue(T number) : number_(number) {}  // NOLINT: a number is passed as it is

  // The element's bits, in the lowest bytes.
  absl::StatusOr<uint64_t> BitsAs(DType type) const;
  std::string ToString() const;

 private:
  long double number_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_PAD_PAD_VALUE_H_
