// Converts elements on the host while they are copied into a block, and tells those that the target
// cannot hold.
#ifndef GRAPHTREE_RUNTIME_SLOTS_CONVERT_ROWS_H_
#define GRAPHTREE_RUNTIME_SLOTS_CONVERT_ROWS_H_

#include <cstdint>
#include <string>

#include "graphs/layout.h"

namespace graphtree {

constexpr int64_t kAllConverted = -1;

// Copies `count` elements that lie one after another. Returns the first whole number that the
// target's type cannot hold, or kAllConverted. Numbers are rounded. REQUIRES: unpack::Converts.
int64_t ConvertRun(const uint8_t* from, DType from_type, uint8_t* to, DType to_type, int64_t count);

// The whole number there. REQUIRES: the type is one of whole numbers.
int64_t WholeAt(const uint8_t* from, DType type, int64_t index);

// Whether an element of this type can be `value`: exactly if the type is one of whole numbers, else
// rounded.
bool CanBe(DType type, double value);
// REQUIRES: CanBe(type, value).
uint64_t BitsOf(DType type, double value);

// "2147483648", "0.1": the shortest text that is read back as `value`, for errors.
std::string ExactText(double value);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_CONVERT_ROWS_H_
