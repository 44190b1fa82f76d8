// The CUDA bodies of the ingest kernels: one for each size of table.
#include <cstdint>

#include "graphs/inputs/ingest/ingest_symbols.h"
#include "graphs/inputs/ingest/ingest_table.h"

namespace graphtree {
namespace ingest {

// __grid_constant__: the table is read where the launch put it, not copied into each thread.
template <uint32_t kWords>
__global__ void __launch_bounds__(ingest::kThreads)
    Ingest(const __grid_constant__ ingest::Table<kWords> table) {
  ingest::IngestThread(table.words, blockIdx.x, threadIdx.x, blockDim.x);
}

}  // namespace ingest

IngestSymbols LinkedIngestKernels() {
  IngestSymbols symbols;
  symbols.small_table = reinterpret_cast<const void*>(&ingest::Ingest<kSmallTableWords>);
  symbols.middle_table = reinterpret_cast<const void*>(&ingest::Ingest<kMiddleTableWords>);
  symbols.large_table = reinterpret_cast<const void*>(&ingest::Ingest<kLargeTableWords>);
  return symbols;
}

}  // namespace graphtree
