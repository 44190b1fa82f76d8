// The slow path: turns a failed call into a message.
#include "device/cuda/cuda_status.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/error.h"

namespace graphtree {

absl::Status FailedCall(Health& health, int code, bool of_runtime, absl::string_view what) {
  if (of_runtime) cudaGetLastError();
  if (health.lost()) return health.status();
  const char* words = cudaGetErrorString(static_cast<cudaError_t>(code));
  // CUDA's words for these do not all say that a capture is the cause.
  const bool of_capture = code >= cudaErrorStreamCaptureUnsupported &&
                          code <= cudaErrorStreamCaptureWrongThread;
  absl::Status status = DeviceError(
      static_cast<ErrorCode>(code),
      absl::StrCat(what, of_capture ? " failed, a capture forbids it: " : " failed: ", words));
  health.Heard(status);
  return status;
}

}  // namespace graphtree
