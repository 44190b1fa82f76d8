// Streams of a CUDA device: our own, which are non-blocking, so that the legacy default stream and
// they do not wait for each other; and adopted ones, which stay their owner's.
//
//   cuda_stream.cc   work and order
//   cuda_capture.cc  captures
//
// A capture is "ours" if BeginCapture of this device began it and noted its id. Into a capture that
// the caller opened on the native stream work is recorded, too, and its ops can be listed, but it
// is never ended here.
//
// Threads: safe from all; beginning and ending captures takes the stream's lock, launching does
// not.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_STREAM_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_STREAM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/cuda/open_captures.h"
#include "device/device.h"
#include "device/stream.h"

namespace graphtree {

class CudaStream final : public Stream {
 public:
  static absl::StatusOr<std::unique_ptr<Stream>> Make(std::shared_ptr<Context> context,
                                                      Device& device);
  static absl::StatusOr<std::unique_ptr<Stream>> Adopt(std::shared_ptr<Context> context,
                                                       Device& device, cudaStream_t native);
  ~CudaStream() override;

  Device& device() const override { return device_; }
  cudaStream_t native() const { return native_; }

  absl::Status Launch(const Kernel& kernel, const LaunchShape& shape,
                      Arguments arguments) override;
  absl::Status Copy(Address target, Address source, uint64_t bytes) override;
  absl::Status Fill(Address target, uint32_t value, uint32_t width, uint64_t count) override;
  absl::Status CallHost(std::function<void()> function) override;

  absl::Status Record(Event& event) override;
  absl::Status RecordExternal(Event& event) override;
  absl::Status Wait(Event& event) override;
  absl::StatusOr<bool> IsDone() override;
  absl::Status Synchronize() override;

  absl::Status BeginCapture(CaptureMode mode) override;
  absl::StatusOr<CaptureInfo> Capture() override;
  absl::StatusOr<std::unique_ptr<Graph>> EndCapture() override;
  absl::StatusOr<std::vector<OpToken>> CaptureFrontier() override;
  absl::StatusOr<std::vector<Op>> CapturedOps() override;
  absl::StatusOr<size_t> CapturedOpCount() override;

 private:
  struct OpenCapture {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    uint64_t id = 0;
    cudaGraph_t graph = nullptr;
    std::vector<cudaGraphNode_t> frontier;
  };

  CudaStream(std::shared_ptr<Context> context, Device& device, cudaStream_t native, bool owned)
      : context_(std::move(context), Kind::kStream),
        device_(device),
        native_(native),
        owned_(owned) {}

  std::string Name() const;
  absl::Status Begin(CaptureMode mode);
  absl::StatusOr<OpenCapture> LookAtCapture();
  // The capture that must be active, or why there is none.
  absl::StatusOr<OpenCapture> ActiveCapture(const char* what);
  absl::Status CheckCapturedCopy(Address address);
  absl::Status CallHostInCapture(cudaGraph_t graph, std::function<void()> function);
  absl::Status MayEndCapture();
  // Call when the capture is over, however it ended. Returns what its graph needs.
  KeptByGraph ForgetCapture();

  const Membership context_;
  Device& device_;
  const cudaStream_t native_;
  const bool owned_;
  std::mutex mutex_;
  std::atomic<uint64_t> capture_id_{0};  // of the capture that was begun here; 0: none
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_STREAM_H_
