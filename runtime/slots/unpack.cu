// The CUDA bodies of the unpack kernels: one for each size of table.
#include <cstdint>

#include "runtime/slots/unpack_symbols.h"
#include "runtime/slots/unpack_table.h"

namespace graphtree {
namespace {

// __grid_constant__: the table is read where the launch put it, not copied into each thread.
template <uint32_t kSlots>
__global__ void __launch_bounds__(unpack::kThreads)
    Unpack(const uint8_t* block, uint8_t* arena,
           const __grid_constant__ unpack::Table<kSlots> table) {
  unpack::UnpackThread(table.slots, table.count, block, arena, blockIdx.x, threadIdx.x, blockDim.x);
}

}  // namespace

UnpackSymbols LinkedUnpackKernels() {
  UnpackSymbols symbols;
  symbols.small_table = reinterpret_cast<const void*>(&Unpack<kSmallUnpackSlots>);
  symbols.middle_table = reinterpret_cast<const void*>(&Unpack<kMiddleUnpackSlots>);
  symbols.large_table = reinterpret_cast<const void*>(&Unpack<kLargeUnpackSlots>);
  return symbols;
}

}  // namespace graphtree
