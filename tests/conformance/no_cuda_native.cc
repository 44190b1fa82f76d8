// A build without CUDA has no CUDA streams to hand over.
#include "tests/conformance/cuda_native.h"

namespace graphtree {

void* CreateCudaStream() { return nullptr; }
bool DestroyCudaStream(void*) { return false; }
bool SynchronizeCudaStream(void*) { return false; }
bool BeginCudaCapture(void*) { return false; }
int EndCudaCapture(void*) { return -1; }
int AllocateCudaMemory(uint64_t) { return 100; }  // there is no device

}  // namespace graphtree
