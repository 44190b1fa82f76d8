// The CUDA bodies of the pad kernels.
#include <cstdint>

#include "graphs/pad/pad_symbols.h"
#include "graphs/pad/pad_table.h"

namespace graphtree {
namespace pad {

// __grid_constant__: the table is read where the launch put it, not copied into each thread.
__global__ void __launch_bounds__(pad::kThreads)
    PadInPlace(uint8_t* tail, const __grid_constant__ pad::Table table) {
  pad::PadThread(table, reinterpret_cast<uint64_t>(tail), 0, blockIdx.x, threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(pad::kThreads)
    PadCopy(uint8_t* target, const uint8_t* source, const __grid_constant__ pad::Table table) {
  pad::PadThread(table, reinterpret_cast<uint64_t>(target), reinterpret_cast<uint64_t>(source),
                 blockIdx.x, threadIdx.x, blockDim.x);
}

}  // namespace pad

PadSymbols LinkedPadKernels() {
  PadSymbols symbols;
  symbols.in_place = reinterpret_cast<const void*>(&pad::PadInPlace);
  symbols.copy = reinterpret_cast<const void*>(&pad::PadCopy);
  return symbols;
}

}  // namespace graphtree
