// The __global__ functions of kernels.cu, as plain pointers; all null in a build without CUDA.
#ifndef GRAPHTREE_TESTS_KERNELS_SYMBOLS_H_
#define GRAPHTREE_TESTS_KERNELS_SYMBOLS_H_

namespace graphtree {

struct TestKernelSymbols {
  const void* empty = nullptr;
  const void* fill_pattern = nullptr;
  const void* add = nullptr;
  const void* scale = nullptr;
  const void* increment = nullptr;
  const void* strided_copy = nullptr;
  const void* checksum = nullptr;
  const void* append = nullptr;
  const void* delay = nullptr;
  const void* big_table = nullptr;
};

TestKernelSymbols LinkedTestKernels();

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_KERNELS_SYMBOLS_H_
