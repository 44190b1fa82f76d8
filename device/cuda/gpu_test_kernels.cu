// Small kernels whose effect shows in one word.
#include "device/cuda/gpu_test_kernels.h"

namespace graphtree {
namespace {

__global__ void AddWord(uint32_t* word, uint32_t by) { *word += by; }

__global__ void Many(float* p, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = a[i] + b[i];
}

__global__ void UseShared(uint32_t* out) {
  extern __shared__ uint32_t shared[];
  uint32_t bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  shared[bytes / 4 - 1] = bytes;
  *out = shared[bytes / 4 - 1];
}

// Architectures before the ninth have no clusters.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GRAPHTREE_IN_PAIRS __cluster_dims__(2, 1, 1)
#else
#define GRAPHTREE_IN_PAIRS
#endif
__global__ void GRAPHTREE_IN_PAIRS Clustered(uint32_t* word, uint32_t by) { *word += by; }

__global__ void WriteNowhere() { *reinterpret_cast<volatile int*>(0x10) = 1; }

}  // namespace

const void* const kAddWordSymbol = reinterpret_cast<const void*>(&AddWord);
const void* const kClusteredSymbol = reinterpret_cast<const void*>(&Clustered);
const void* const kManySymbol = reinterpret_cast<const void*>(&Many);
const void* const kUseSharedSymbol = reinterpret_cast<const void*>(&UseShared);
const void* const kWriteNowhereSymbol = reinterpret_cast<const void*>(&WriteNowhere);

cudaError_t RawAddWord(uint32_t* word, uint32_t by, cudaStream_t stream) {
  AddWord<<<1, 1, 0, stream>>>(word, by);
  return cudaGetLastError();
}

}  // namespace graphtree
