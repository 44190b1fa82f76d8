// Looks the entry points up, and says in plain words why there is no driver to ask.
#include "device/cuda/driver.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/error.h"

namespace graphtree {
namespace {

// All signatures above are older than this, and the Runtime refuses drivers that are.
constexpr int kOldestAsked = 12000;

template <typename Function>
absl::Status Find(const char* name, int version, Function* function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const int asked = std::max(version, kOldestAsked);
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, asked, cudaEnableLegacyStream, &result);
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess || found == nullptr) {
    cudaGetLastError();
    return DeviceError(ErrorCode::kInsufficientDriver,
                       absl::StrCat("the CUDA driver has no ", name, " of version ",
                                    VersionText(asked), ": install a newer driver"));
  }
  *function = reinterpret_cast<Function>(found);
  return absl::OkStatus();
}

absl::StatusOr<const Driver*> MakeTable() {
  absl::Status usable = CheckDriver();
  if (!usable.ok()) return usable;
  auto* driver = new Driver;  // lives as long as the process, as the driver does
  absl::Status status;
#define GRAPHTREE_FIND(name, version) \
  if (status.ok()) status = Find("cu" #name, version, &driver->name);
  GRAPHTREE_DRIVER_ENTRIES(GRAPHTREE_FIND)
#undef GRAPHTREE_FIND
  if (!status.ok()) {
    delete driver;
    return status;
  }
  cudaDriverGetVersion(&driver->version);
  return driver;
}

}  // namespace

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::Status CheckDriver() {
  int driver = 0;
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const cudaError_t error = cudaDriverGetVersion(&driver);
  if (error != cudaSuccess || driver == 0) {
    cudaGetLastError();
    return DeviceError(ErrorCode::kInsufficientDriver,
                       "no CUDA driver was found (libcuda.so.1): this machine has no NVIDIA GPU, "
                       "its driver is not installed, or it is not visible in this container");
  }
  // Within one major version an older driver serves a newer Runtime.
  if (driver / 1000 < runtime / 1000) {
    return DeviceError(ErrorCode::kInsufficientDriver,
                       absl::StrCat("the CUDA driver is for CUDA ", VersionText(driver),
                                    ", this program needs one for ", runtime / 1000,
                                    ".0 or newer: install a newer driver"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Driver*> LoadDriver() {
  // A failure is not kept: a driver may be installed while the process lives.
  static std::mutex mutex;
  static const Driver* table = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (table == nullptr) {
    absl::StatusOr<const Driver*> made = MakeTable();
    if (!made.ok()) return made.status();
    table = *made;
  }
  return table;
}

bool DriverHas(const char* name, int version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableLegacyStream, &result);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess && found != nullptr;
}

}  // namespace graphtree
