// The device itself: it makes streams, events and memory, and closes.
#include "device/cuda/cuda_device.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/base/status_macros.h"
#include "device/cuda/context.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/native_handle.h"
#include "device/cuda/stream_callback.h"

namespace graphtree {
namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(CudaDescription description, std::shared_ptr<Context> context,
             std::unique_ptr<CudaMemory> memory)
      : description_(std::move(description)),
        context_(std::move(context)),
        memory_(std::move(memory)) {}
  // A close that fails names what is left; there is nobody to tell here.
  ~CudaDevice() override {
    EndLeftovers();
    (void)context_->Close();
  }

  const DeviceInfo& info() const override { return description_.info; }
  const Capabilities& capabilities() const override { return description_.capabilities; }
  Memory& memory() override { return *memory_; }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override {
    return CudaStream::Make(context_, *this);
  }
  absl::StatusOr<std::unique_ptr<Stream>> AdoptStream(NativeStream native) override {
    return CudaStream::Adopt(context_, *this, static_cast<cudaStream_t>(native));
  }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(const EventOptions& options) override {
    return CudaEvent::Make(context_, options.timing);
  }
  absl::Status Load(const Kernel& kernel) override {
    GRAPHTREE_RETURN_IF_ERROR(context_->Usable());
    return context_->kernels().Get(kernel).status();
  }

  int open_captures() const override { return context_->captures().count(); }
  bool IsInsideWork() const override { return StreamCallback::IsInside(context_.get()); }
  absl::Status health() const override { return context_->health().status(); }
  // What cannot be given back is named by the context, as what is left.
  absl::Status Close() override {
    if (!IsInsideWork()) GiveBackLeftovers().IgnoreError();
    return context_->Close();
  }

 private:
  const CudaDescription description_;
  const std::shared_ptr<Context> context_;
  const std::unique_ptr<CudaMemory> memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal, const CudaOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(CudaDescription description, DescribeCudaDevice(ordinal, options));
  GRAPHTREE_ASSIGN_OR_RETURN(
      std::shared_ptr<Context> context,
      Context::Open(ordinal, description.info.architecture, options));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<CudaMemory> memory, CudaMemory::Make(context));
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(
      std::move(description), std::move(context), std::move(memory)));
}

absl::StatusOr<NativeStream> NativeStreamOf(const Stream& stream) {
  return NativeHandle<CudaStream>(stream, "a stream");
}

}  // namespace graphtree
