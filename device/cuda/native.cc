// Returns each handle, after checking that the object is a CUDA device's.
#include "device/cuda/native.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_executable.h"
#include "device/cuda/cuda_graph.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/native_handle.h"

namespace graphtree {

absl::StatusOr<cudaStream_t> NativeOf(const Stream& stream) {
  return NativeHandle<CudaStream>(stream, "a stream");
}

absl::StatusOr<cudaEvent_t> NativeOf(const Event& event) {
  return NativeHandle<CudaEvent>(event, "an event");
}

absl::StatusOr<cudaGraph_t> NativeOf(const Graph& graph) {
  return NativeHandle<CudaGraph>(graph, "a graph");
}

absl::StatusOr<cudaGraphExec_t> NativeOf(const Executable& executable) {
  return NativeHandle<CudaExecutable>(executable, "an executable");
}

absl::StatusOr<CUmemGenericAllocationHandle> NativeOf(const PhysicalMemory& memory) {
  return NativeHandle<CudaPhysicalMemory>(memory, "physical memory");
}

absl::StatusOr<cudaGraphNode_t> NativeOf(const Graph& graph, OpId op) {
  const absl::StatusOr<cudaGraph_t> native = NativeOf(graph);
  if (!native.ok()) return native.status();
  return static_cast<const CudaGraph&>(graph).NodeOf(op);
}

}  // namespace graphtree
