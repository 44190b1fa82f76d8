// Streams as a caller makes them without this library, so that tests can hand them over (adopt).
#ifndef GRAPHTREE_TESTS_CONFORMANCE_NATIVE_STREAMS_H_
#define GRAPHTREE_TESTS_CONFORMANCE_NATIVE_STREAMS_H_

#include <memory>

#include "device/device.h"

namespace graphtree {

// Every call returns false (or -1) if the native API failed.
class NativeStreams {
 public:
  virtual ~NativeStreams() = default;
  virtual NativeStream Create() = 0;
  virtual bool Destroy(NativeStream stream) = 0;
  virtual bool Synchronize(NativeStream stream) = 0;
  virtual bool BeginCapture(NativeStream stream) = 0;
  // Ends the capture and drops its graph. The number of its ops, or -1.
  virtual int EndCapture(NativeStream stream) = 0;
};

// In a build without CUDA every call fails.
std::unique_ptr<NativeStreams> CudaNativeStreams();

std::unique_ptr<NativeStreams> HostNativeStreams(Device& device);

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_CONFORMANCE_NATIVE_STREAMS_H_
