// Retains and releases the primary context.
#include "device/cuda/primary_context.h"

#include <cuda_runtime_api.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/driver.h"
#include "device/cuda/health.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<PrimaryContext>> PrimaryContext::Retain(int ordinal) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Driver* driver, LoadDriver());
  const auto what = [ordinal] { return absl::StrCat("making the context of cuda:", ordinal); };
  Health nobody;  // a device that does not open is not lost, it never was
  // The Runtime keeps a hold of its own on a context that it has set up, so that devices may be
  // closed and opened again while its kernels stay loaded.
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(nobody, cudaInitDevice(ordinal, 0, 0), what));
  CUdevice device = 0;
  CUcontext native = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(nobody, driver->DeviceGet(&device, ordinal), what));
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(nobody, driver->DevicePrimaryCtxRetain(&native, device), what));
  return std::unique_ptr<PrimaryContext>(new PrimaryContext(*driver, ordinal, device, native));
}

PrimaryContext::PrimaryContext(const Driver& driver, int ordinal, CUdevice device, CUcontext native)
    : driver_(driver),
      ordinal_(ordinal),
      device_(device),
      native_(native),
      name_(absl::StrCat("cuda:", ordinal)) {}

PrimaryContext::~PrimaryContext() { driver_.DevicePrimaryCtxRelease(device_); }

}  // namespace graphtree
