// The CUDA device: the Device interface over one GPU.
//
// It uses the GPU's primary context, as PyTorch, cuBLAS and the Runtime's own kernels do, so memory
// and streams may be shared with them. No call changes the calling thread's current device, and the
// device as a whole is never synchronised, not even by Close, which waits for this device's own
// streams.
//
//   absl::StatusOr<std::unique_ptr<Device>> device = OpenCudaDevice(0, {});
//
// In a build without a CUDA toolkit, and on a machine without a driver, the same calls exist and
// return the reason.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_DEVICE_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_DEVICE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/capability.h"
#include "device/cuda/cuda_options.h"
#include "device/device.h"

namespace graphtree {

// How many GPUs there are, or why there are none (no driver, one that is too old, no GPU).
absl::StatusOr<int> CountCudaDevices();

// What a GPU is and can do, without opening it.
struct CudaDescription {
  DeviceInfo info;
  Capabilities capabilities;
};
absl::StatusOr<CudaDescription> DescribeCudaDevice(int ordinal, const CudaOptions& options);

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal, const CudaOptions& options);

// The cudaStream_t of a stream, as it is passed on without CUDA's headers; native.h has it typed.
// It stays the stream's. An error for a stream of another kind of device.
absl::StatusOr<NativeStream> NativeStreamOf(const Stream& stream);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_DEVICE_H_
