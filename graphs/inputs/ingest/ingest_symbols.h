// The __global__ functions of ingest.cu, as plain pointers; all null in a build without CUDA.
#ifndef GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_SYMBOLS_H_
#define GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_SYMBOLS_H_

#include <cstdint>

namespace graphtree {

// The sizes of table that there are kernels for. The largest is 4000 bytes.
inline constexpr uint32_t kSmallTableWords = 64;
inline constexpr uint32_t kMiddleTableWords = 192;
inline constexpr uint32_t kLargeTableWords = 500;

struct IngestSymbols {
  const void* small_table = nullptr;
  const void* middle_table = nullptr;
  const void* large_table = nullptr;
};

IngestSymbols LinkedIngestKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_INPUTS_INGEST_INGEST_SYMBOLS_H_
