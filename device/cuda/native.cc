// Returns each handle, after checking that the object is a CUDA device's.
#include "device/cuda/native.h"

#include <typeinfo>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_executable.h"
#include "device/cuda/cuda_graph.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/cuda_stream.h"
#include "device/error.h"

namespace graphtree {
namespace {

template <typename Ours, typename Interface>
auto Native(const Interface& object, const char* what)
    -> absl::StatusOr<decltype(static_cast<const Ours&>(object).native())> {
  if (typeid(object) == typeid(Ours)) return static_cast<const Ours&>(object).native();
  return DeviceError(ErrorCode::kInvalidHandle,
                     absl::StrCat("asking for the native handle of ", what,
                                  " that is not of a CUDA device"));
}

}  // namespace

absl::StatusOr<cudaStream_t> NativeOf(const Stream& stream) {
  return Native<CudaStream>(stream, "a stream");
}

absl::StatusOr<cudaEvent_t> NativeOf(const Event& event) {
  return Native<CudaEvent>(event, "an event");
}

absl::StatusOr<cudaGraph_t> NativeOf(const Graph& graph) {
  return Native<CudaGraph>(graph, "a graph");
}

absl::StatusOr<cudaGraphExec_t> NativeOf(const Executable& executable) {
  return Native<CudaExecutable>(executable, "an executable");
}

absl::StatusOr<CUmemGenericAllocationHandle> NativeOf(const PhysicalMemory& memory) {
  return Native<CudaPhysicalMemory>(memory, "physical memory");
}

absl::StatusOr<cudaGraphNode_t> NativeOf(const Graph& graph, OpId op) {
  const absl::StatusOr<cudaGraph_t> native = NativeOf(graph);
  if (!native.ok()) return native.status();
  return static_cast<const CudaGraph&>(graph).NodeOf(op);
}

}  // namespace graphtree
