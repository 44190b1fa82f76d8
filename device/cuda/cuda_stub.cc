// Stands in for the CUDA device in a build without a CUDA toolkit: every call returns the reason.
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/cuda/cuda_device.h"
#include "device/error.h"

namespace graphtree {
namespace {

absl::Status Missing() {
  return DeviceError(ErrorCode::kNotSupported,
                     absl::StrCat("this program has no CUDA device: ", GRAPHTREE_CUDA_MISSING));
}

}  // namespace

absl::StatusOr<int> CountCudaDevices() { return Missing(); }

absl::StatusOr<CudaDescription> DescribeCudaDevice(int, const CudaOptions&) { return Missing(); }

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int, const CudaOptions&) {
  return Missing();
}

absl::StatusOr<NativeStream> NativeStreamOf(const Stream&) { return Missing(); }

}  // namespace graphtree
