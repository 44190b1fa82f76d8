// Types that may look at any bytes: what host and CUDA bodies move other types' elements with, in
// accesses as wide as addresses allow.
//
//   *reinterpret_cast<Word32*>(target) = *reinterpret_cast<const Word32*>(source);
//
// Each is a struct: may_alias on another name of a built-in type is lost where that name is the
// argument of a template.
#ifndef GRAPHTREE_DEVICE_BASE_ANY_BYTES_H_
#define GRAPHTREE_DEVICE_BASE_ANY_BYTES_H_

#include <cstdint>

#include "device/base/host_device.h"

namespace graphtree {

struct __attribute__((may_alias)) Byte {
  uint8_t bits;
};
struct __attribute__((may_alias)) Word16 {
  uint16_t bits;
};
struct __attribute__((may_alias)) Word32 {
  uint32_t bits;
};
struct __attribute__((may_alias)) Word64 {
  uint64_t bits;
};
struct __attribute__((may_alias, aligned(16))) Word128 {
  uint64_t low;
  uint64_t high;
};

// The largest power of two that divides both addresses and `width`.
GRAPHTREE_HOST_DEVICE inline uint32_t WidestAccess(uint64_t target, uint64_t source,
                                                   uint32_t width) {
  const uint32_t bits = static_cast<uint32_t>(target | source) | width;
  return bits & (0u - bits);
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_ANY_BYTES_H_
