// Plain functions over CUDA's calls, for files that include no CUDA header.
#ifndef GRAPHTREE_TESTS_CONFORMANCE_CUDA_NATIVE_H_
#define GRAPHTREE_TESTS_CONFORMANCE_CUDA_NATIVE_H_

#include <cstdint>

namespace graphtree {

void* CreateCudaStream();  // null if CUDA says no
bool DestroyCudaStream(void* stream);
bool SynchronizeCudaStream(void* stream);
bool BeginCudaCapture(void* stream);
int EndCudaCapture(void* stream);  // the number of nodes, or -1
int AllocateCudaMemory(uint64_t bytes);  // and frees it; the code of what failed, or 0

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_CONFORMANCE_CUDA_NATIVE_H_
