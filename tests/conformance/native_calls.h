// What a caller does without this library: streams of its own, to be handed over (adopt), and
// memory.
#ifndef GRAPHTREE_TESTS_CONFORMANCE_NATIVE_CALLS_H_
#define GRAPHTREE_TESTS_CONFORMANCE_NATIVE_CALLS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "device/device.h"

namespace graphtree {

// Calls that return no status return false (or -1) if the native API failed.
class NativeCalls {
 public:
  virtual ~NativeCalls() = default;
  virtual NativeStream Create() = 0;
  virtual bool Destroy(NativeStream stream) = 0;
  virtual bool Synchronize(NativeStream stream) = 0;
  virtual bool BeginCapture(NativeStream stream) = 0;
  // Ends the capture and drops its graph. The number of its ops, or -1.
  virtual int EndCapture(NativeStream stream) = 0;
  // What cudaMalloc and cudaFree of so many bytes come to.
  virtual absl::Status Allocate(uint64_t bytes) = 0;
};

// In a build without CUDA every call fails.
std::unique_ptr<NativeCalls> NativeCallsOnCuda();

std::unique_ptr<NativeCalls> NativeCallsOnHost(Device& device);

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_CONFORMANCE_NATIVE_CALLS_H_
