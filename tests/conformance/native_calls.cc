// A caller's calls on CUDA and on the host device.
#include "tests/conformance/native_calls.h"

#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/error.h"
#include "device/graph.h"
#include "device/host/native.h"
#include "tests/conformance/cuda_native.h"

namespace graphtree {
namespace {

class CallsOnCuda : public NativeCalls {
 public:
  NativeStream Create() override { return CreateCudaStream(); }
  bool Destroy(NativeStream stream) override { return DestroyCudaStream(stream); }
  bool Synchronize(NativeStream stream) override { return SynchronizeCudaStream(stream); }
  bool BeginCapture(NativeStream stream) override { return BeginCudaCapture(stream); }
  int EndCapture(NativeStream stream) override { return EndCudaCapture(stream); }
  absl::Status Allocate(uint64_t bytes) override {
    const int code = AllocateCudaMemory(bytes);
    if (code == 0) return absl::OkStatus();
    return DeviceError(static_cast<ErrorCode>(code),
                       absl::StrCat("cudaMalloc of ", bytes, " bytes"));
  }
};

class CallsOnHost : public NativeCalls {
 public:
  explicit CallsOnHost(Device& device) : device_(device) {}

  NativeStream Create() override {
    absl::StatusOr<std::unique_ptr<HostNativeStream>> stream = NewHostNativeStream(device_);
    if (!stream.ok()) return nullptr;
    const NativeStream handle = (*stream)->handle();
    streams_[handle] = *std::move(stream);
    return handle;
  }
  bool Destroy(NativeStream stream) override { return streams_.erase(stream) == 1; }
  bool Synchronize(NativeStream stream) override { return streams_.at(stream)->Synchronize().ok(); }
  bool BeginCapture(NativeStream stream) override {
    return streams_.at(stream)->BeginCapture(CaptureMode::kThreadLocal).ok();
  }
  int EndCapture(NativeStream stream) override {
    const absl::StatusOr<std::unique_ptr<Graph>> graph = streams_.at(stream)->EndCapture();
    return graph.ok() ? static_cast<int>((*graph)->ops().size()) : -1;
  }
  absl::Status Allocate(uint64_t bytes) override { return AllocateNatively(device_, bytes); }

 private:
  Device& device_;
  std::map<NativeStream, std::unique_ptr<HostNativeStream>> streams_;
};

}  // namespace

std::unique_ptr<NativeCalls> NativeCallsOnCuda() { return std::make_unique<CallsOnCuda>(); }

std::unique_ptr<NativeCalls> NativeCallsOnHost(Device& device) {
  return std::make_unique<CallsOnHost>(device);
}

}  // namespace graphtree
