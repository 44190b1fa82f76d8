// Which free list a run of a given length belongs to: 32 classes for each doubling.
//
// Lengths below 32 quanta have a class each; above, a class spans 1/32 of a power of two, so taking
// the first run of a larger class wastes a search of 3 % at most, never memory.
//
//   length   1  2 ... 31 | 32 33 ... 63 | 64 66 68 ... 126 | 128 132 ...
//   class    1  2 ... 31 | 32 33 ... 63 | 64 65 66 ...  95 |  96  97 ...
#ifndef GRAPHTREE_ALLOCATOR_PLACEMENT_SIZE_CLASS_H_
#define GRAPHTREE_ALLOCATOR_PLACEMENT_SIZE_CLASS_H_

#include <bit>
#include <cstdint>

namespace graphtree {

inline constexpr int kClassBits = 5;
inline constexpr uint32_t kClassCount = (32 - kClassBits + 1) << kClassBits;

// The class of a run of `length` quanta. Grows with the length.
constexpr uint32_t SizeClassOf(uint32_t length) {
  // Without a branch: which side of the border a random length lies on cannot be predicted.
  const int shift = std::bit_width(length | (1u << kClassBits)) - 1 - kClassBits;
  return (static_cast<uint32_t>(shift) << kClassBits) + (length >> shift);
}

// The shortest run of a class.
constexpr uint32_t SizeClassFloor(uint32_t size_class) {
  if (size_class < (2u << kClassBits)) return size_class;
  const uint32_t shift = (size_class >> kClassBits) - 1;
  return ((1u << kClassBits) + (size_class & ((1u << kClassBits) - 1))) << shift;
}

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_PLACEMENT_SIZE_CLASS_H_
