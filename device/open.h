// Opens a device by its name.
//
//   absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice("cuda:0");   // or "host"
//
// The only file of device/ that knows both devices.
#ifndef GRAPHTREE_DEVICE_OPEN_H_
#define GRAPHTREE_DEVICE_OPEN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/capability.h"
#include "device/cuda/cuda_options.h"
#include "device/device.h"

namespace graphtree {

// "host", "cuda" (device 0) or "cuda:N". A name that is none of these, a device number that does
// not exist, a missing driver or one that is too old, and a build without CUDA are errors that say
// which. The options are for the CUDA device; the host device takes none here.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(absl::string_view name,
                                                   const CudaOptions& options = {});

struct DeviceListing {
  std::string name;
  absl::Status status;  // why it cannot be opened; the fields below are filled in only if OK
  DeviceInfo info;
  Capabilities capabilities;
};

// The host device, every GPU, and one line "cuda" with the reason where there is no GPU to list.
std::vector<DeviceListing> ListDevices(const CudaOptions& options = {});

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_OPEN_H_
