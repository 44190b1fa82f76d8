// A caller's own use of CUDA, beside the library.
#include "tests/conformance/cuda_native.h"

namespace graphtree {

void* CreateCudaStream() {
  cudaStream_t stream = nullptr;
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream
                                                                                  : nullptr;
}

bool DestroyCudaStream(void* stream) {
  return cudaStreamDestroy(static_cast<cudaStream_t>(stream)) == cudaSuccess;
}

bool SynchronizeCudaStream(void* stream) {
  return cudaStreamSynchronize(static_cast<cudaStream_t>(stream)) == cudaSuccess;
}

bool BeginCudaCapture(void* stream) {
  return cudaStreamBeginCapture(static_cast<cudaStream_t>(stream),
                                cudaStreamCaptureModeThreadLocal) == cudaSuccess;
}

int EndCudaCapture(void* stream) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph) != cudaSuccess) return -1;
  size_t nodes = 0;
  const bool counted = cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess;
  const bool destroyed = cudaGraphDestroy(graph) == cudaSuccess;
  return counted && destroyed ? static_cast<int>(nodes) : -1;
}

int AllocateCudaMemory(uint64_t bytes) {
  void* memory = nullptr;
  const cudaError_t made = cudaMalloc(&memory, bytes);
  if (made == cudaSuccess) return static_cast<int>(cudaFree(memory));
  cudaGetLastError();
  return static_cast<int>(made);
}

}  // namespace graphtree
