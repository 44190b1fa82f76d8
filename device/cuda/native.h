// The way to the native handles, for code that works with CUDA itself beside this library. Only
// device/cuda and code of the caller's include it.
//
//   cudaStream_t raw = *NativeOf(*stream);      // a view: it stays the stream's
//
// Each answers with an error for an object of another device than CUDA (the host, a wrapper).
// Owners for handles of one's own are in handles.h.
#ifndef GRAPHTREE_DEVICE_CUDA_NATIVE_H_
#define GRAPHTREE_DEVICE_CUDA_NATIVE_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/memory.h"
#include "device/stream.h"

namespace graphtree {

absl::StatusOr<cudaStream_t> NativeOf(const Stream& stream);
absl::StatusOr<cudaEvent_t> NativeOf(const Event& event);
absl::StatusOr<cudaGraph_t> NativeOf(const Graph& graph);
absl::StatusOr<cudaGraphExec_t> NativeOf(const Executable& executable);
absl::StatusOr<CUmemGenericAllocationHandle> NativeOf(const PhysicalMemory& memory);

// The node of an op, valid while the graph lives.
absl::StatusOr<cudaGraphNode_t> NativeOf(const Graph& graph, OpId op);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_NATIVE_H_
