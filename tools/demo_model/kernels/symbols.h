// The __global__ functions of kernels.cu, as plain pointers; all null in a build without CUDA.
#ifndef GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_SYMBOLS_H_
#define GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_SYMBOLS_H_

namespace graphtree::demo {

struct ModelSymbols {
  const void* prepare = nullptr;
  const void* embed = nullptr;
  const void* norm = nullptr;
  const void* matmul = nullptr;
  const void* rope = nullptr;
  const void* append = nullptr;
  const void* attend = nullptr;
  const void* add = nullptr;
  const void* gate = nullptr;
  const void* gather = nullptr;
  const void* sample = nullptr;
};

ModelSymbols LinkedModelKernels();

}  // namespace graphtree::demo

#endif  // GRAPHTREE_TOOLS_DEMO_MODEL_KERNELS_SYMBOLS_H_
