// The __global__ functions of unpack.cu, as plain pointers; all null in a build without CUDA.
#ifndef GRAPHTREE_RUNTIME_SLOTS_UNPACK_SYMBOLS_H_
#define GRAPHTREE_RUNTIME_SLOTS_UNPACK_SYMBOLS_H_

#include <cstdint>

namespace graphtree {

// The sizes of table that there are kernels for.
inline constexpr uint32_t kSmallUnpackSlots = 8;
inline constexpr uint32_t kMiddleUnpackSlots = 16;
inline constexpr uint32_t kLargeUnpackSlots = 32;

struct UnpackSymbols {
  const void* small_table = nullptr;
  const void* middle_table = nullptr;
  const void* large_table = nullptr;
};

UnpackSymbols LinkedUnpackKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_UNPACK_SYMBOLS_H_
