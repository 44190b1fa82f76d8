// The CUDA bodies of the unpack kernels: one for each size of table.
#include <cstdint>

#include "runtime/slots/block_cursor.h"
#include "runtime/slots/unpack_symbols.h"
#include "runtime/slots/unpack_table.h"

namespace graphtree {
namespace unpack {

// Called by one thread of each block of the launch, after all of its threads have read the cursor.
// True for the last block: nobody reads the cursor any more. The count begins anew by itself.
__device__ bool IsLast(unpack::Cursor* cursor) {
  if (gridDim.x == 1) return true;
  __threadfence();
  return atomicInc(&cursor->arrived, gridDim.x - 1) == gridDim.x - 1;
}

// The last warp of a block unpacks nothing and sees to the cursor, while the others wait for what
// they read over the bus: counting takes two trips to the device's memory.
// __grid_constant__: the table is read where the launch put it, not copied into each thread.
template <uint32_t kSlots>
__global__ void __launch_bounds__(unpack::kLaunchThreads)
    Unpack(const uint8_t* address, uint8_t* arena,
           const __grid_constant__ unpack::Table<kSlots> table) {
  const uint8_t* const block = unpack::FindBlock(table.ring, address, arena);
  __syncthreads();
  if (threadIdx.x < unpack::kThreads) {
    unpack::UnpackThread(table.slots, table.count, block, arena, blockIdx.x, threadIdx.x,
                         unpack::kThreads);
  } else if (threadIdx.x == unpack::kThreads && IsLast(unpack::CursorIn(table.ring, arena))) {
    unpack::MoveCursor(table.ring, block, arena);
  }
}

}  // namespace unpack

UnpackSymbols LinkedUnpackKernels() {
  UnpackSymbols symbols;
  symbols.small_table = reinterpret_cast<const void*>(&unpack::Unpack<kSmallUnpackSlots>);
  symbols.middle_table = reinterpret_cast<const void*>(&unpack::Unpack<kMiddleUnpackSlots>);
  symbols.large_table = reinterpret_cast<const void*>(&unpack::Unpack<kLargeUnpackSlots>);
  return symbols;
}

}  // namespace graphtree
