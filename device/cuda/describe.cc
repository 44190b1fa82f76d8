// Counting GPUs and describing one, without a context.
#include <cuda_runtime_api.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/base/status_macros.h"
#include "device/cuda/capabilities.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/driver.h"
#include "device/cuda/health.h"
#include "device/cuda/nvrtc/source_compiler.h"
#include "device/error.h"

namespace graphtree {
namespace {

std::string UuidText(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    absl::StrAppendFormat(&text, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// Twice its clock, as each edge moves data. 0 where the driver does not say.
uint64_t MemoryBytesPerSecond(int ordinal) {
  int kilohertz = 0;
  int bits = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, ordinal) != cudaSuccess ||
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, ordinal) != cudaSuccess ||
      kilohertz <= 0 || bits <= 0) {
    return 0;
  }
  return uint64_t{2'000} * static_cast<uint64_t>(kilohertz) * static_cast<uint64_t>(bits) / 8;
}

}  // namespace

absl::StatusOr<int> CountCudaDevices() {
  GRAPHTREE_RETURN_IF_ERROR(CheckDriver());
  int count = 0;
  Health nobody;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(nobody, cudaGetDeviceCount(&count), [] {
    return std::string("counting the GPUs that the CUDA driver shows");
  }));
  return count;
}

absl::StatusOr<CudaDescription> DescribeCudaDevice(int ordinal, const CudaOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const int count, CountCudaDevices());
  if (ordinal < 0 || ordinal >= count) {
    return DeviceError(ErrorCode::kInvalidDevice,
                       absl::StrCat("there is no cuda:", ordinal, ": this machine shows ", count,
                                    count == 1 ? " GPU" : " GPUs", ", numbered from 0"));
  }
  cudaDeviceProp properties = {};
  Health nobody;
  const auto what = [ordinal] { return absl::StrCat("describing cuda:", ordinal); };
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(nobody, cudaGetDeviceProperties(&properties, ordinal), what));
  CudaDescription description;
  DeviceInfo& info = description.info;
  info.name = absl::StrCat("cuda:", ordinal);
  info.model = properties.name;
  info.architecture = absl::StrCat("sm_", properties.major, properties.minor);
  info.identity = UuidText(properties.uuid);
  cudaDriverGetVersion(&info.driver_version);
  cudaRuntimeGetVersion(&info.runtime_version);
  info.multiprocessors = properties.multiProcessorCount;
  info.total_bytes = properties.totalGlobalMem;
  info.memory_bytes_per_second = MemoryBytesPerSecond(ordinal);

  GRAPHTREE_ASSIGN_OR_RETURN(const Driver* driver, LoadDriver());
  CUdevice device = 0;
  int virtual_memory = 0;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(nobody, driver->DeviceGet(&device, ordinal), what));
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(
      nobody,
      driver->DeviceGetAttribute(&virtual_memory,
                                 CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
      what));
  CudaFacts facts;
  facts.driver_version = info.driver_version;
  facts.compute_major = properties.major;
  facts.compute_minor = properties.minor;
  facts.virtual_memory = virtual_memory != 0;
  facts.source_compiler =
      SourceCompiler({info.architecture, options.nvrtc_folder, ""}).Available();
  description.capabilities = CudaCapabilities(facts, DriverHas);
  return description;
}

}  // namespace graphtree
