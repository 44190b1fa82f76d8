// Plays, on the host device, a program that knows nothing of a Device: it has a stream of its own,
// used without the Stream interface as a library such as cuBLAS uses a cudaStream_t, and it
// allocates as with cudaMalloc.
//
//   absl::StatusOr<std::unique_ptr<HostNativeStream>> theirs = NewHostNativeStream(*device);
//   device->AdoptStream((*theirs)->handle());     // a view; the native stream stays the caller's
//   (*theirs)->Push("gemm", [=] { ... });         // unknown work: no arguments, nothing declared
//
// AdoptStream(nullptr) is the legacy stream, on which no capture may begin. Unlike CUDA's it does
// not wait for other streams, as if all of them had been made non-blocking.
#ifndef GRAPHTREE_DEVICE_HOST_NATIVE_H_
#define GRAPHTREE_DEVICE_HOST_NATIVE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/stream.h"

namespace graphtree {

class HostNativeStream {
 public:
  virtual ~HostNativeStream() = default;
  HostNativeStream(const HostNativeStream&) = delete;
  HostNativeStream& operator=(const HostNativeStream&) = delete;

  // For Device::AdoptStream.
  virtual NativeStream handle() const = 0;
  // Queues, or captures, a kernel of which the device knows only the name.
  virtual absl::Status Push(std::string name, std::function<void()> body) = 0;
  // A capture that is not begun through the Stream interface (CaptureInfo::ours is false).
  virtual absl::Status BeginCapture(CaptureMode mode) = 0;
  virtual absl::StatusOr<std::unique_ptr<Graph>> EndCapture() = 0;
  virtual absl::Status Synchronize() = 0;

 protected:
  HostNativeStream() = default;
};

// Refused if the device is not a host device.
absl::StatusOr<std::unique_ptr<HostNativeStream>> NewHostNativeStream(Device& device);

// Allocates and frees so many bytes, as with cudaMalloc and cudaFree: refused while a capture is
// open whose mode forbids that to this thread. A refusal spoils the capture.
absl::Status AllocateNatively(Device& device, uint64_t bytes);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_HOST_NATIVE_H_
