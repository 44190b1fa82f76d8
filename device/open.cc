// Parsing a device's name, opening it, and listing all devices.
#include "device/open.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "device/cuda/cuda_device.h"
#include "device/error.h"
#include "device/host/host_device.h"

namespace graphtree {
namespace {

// The number in "cuda" (0) or "cuda:N"; -1 for any other name.
int CudaOrdinal(absl::string_view name) {
  if (name == "cuda") return 0;
  int ordinal = 0;
  // SimpleAtoi also takes signs and blanks, which no device's name has.
  if (!absl::ConsumePrefix(&name, "cuda:") || name.empty() ||
      name.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(name, &ordinal)) {
    return -1;
  }
  return ordinal;
}

DeviceListing HostListing() {
  DeviceListing listing;
  listing.name = "host";
  absl::StatusOr<std::unique_ptr<Device>> device = OpenHostDevice({});
  listing.status = device.status();
  if (!device.ok()) return listing;
  listing.info = (*device)->info();
  listing.capabilities = (*device)->capabilities();
  listing.status = (*device)->Close();
  return listing;
}

DeviceListing CudaListing(int ordinal, const CudaOptions& options) {
  DeviceListing listing;
  listing.name = absl::StrCat("cuda:", ordinal);
  absl::StatusOr<CudaDescription> description = DescribeCudaDevice(ordinal, options);
  listing.status = description.status();
  if (description.ok()) {
    listing.info = std::move(description->info);
    listing.capabilities = std::move(description->capabilities);
  }
  return listing;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(absl::string_view name,
                                                   const CudaOptions& options) {
  if (name == "host") return OpenHostDevice({});
  const int ordinal = CudaOrdinal(name);
  if (ordinal >= 0) return OpenCudaDevice(ordinal, options);
  return DeviceError(
      ErrorCode::kInvalidDevice,
      absl::StrCat("no device is called \"", name,
                   "\"; devices are called host, cuda (which is cuda:0) and cuda:N"));
}

std::vector<DeviceListing> ListDevices(const CudaOptions& options) {
  std::vector<DeviceListing> devices = {HostListing()};
  const absl::StatusOr<int> count = CountCudaDevices();
  if (!count.ok()) {
    devices.emplace_back();
    devices.back().name = "cuda";
    devices.back().status = count.status();
    return devices;
  }
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    devices.push_back(CudaListing(ordinal, options));
  }
  return devices;
}

}  // namespace graphtree
