// Kernels of the CUDA tests and benches, as CUDA itself sees them.
#ifndef GRAPHTREE_DEVICE_CUDA_GPU_TEST_KERNELS_H_
#define GRAPHTREE_DEVICE_CUDA_GPU_TEST_KERNELS_H_

#include <cstdint>

#include <cuda_runtime_api.h>

namespace graphtree {

// The address of each __global__ function, for a CudaSymbol.
extern const void* const kAddWordSymbol;      // (uint32_t* word, uint32_t by)
extern const void* const kManySymbol;         // (float* p, const float* a, const float* b, int n)
extern const void* const kUseSharedSymbol;    // (uint32_t* out), shared memory as launched
extern const void* const kWriteNowhereSymbol; // ()
extern const void* const kClusteredSymbol;    // as AddWord, in clusters of two by its code

// Launches AddWord the way that code knowing nothing of this library does.
cudaError_t RawAddWord(uint32_t* word, uint32_t by, cudaStream_t stream);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_GPU_TEST_KERNELS_H_
