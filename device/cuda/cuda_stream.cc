// Work and order on a stream.
#include "device/cuda/cuda_stream.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "device/cuda/argument_pointers.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_status.h"
#include "device/cuda/launch_checks.h"
#include "device/cuda/stream_callback.h"
#include "device/error.h"

namespace graphtree {
namespace {

// On a thread of the driver's there is nobody to tell.
void CallOrEnd(const StreamCallback& callback) {
  const absl::Status called = Guarded([&callback] { callback.Run(); });
  GRAPHTREE_CHECK(called.ok()) << "a host function on a stream must not throw; "
                               << std::string(called.message());
}

// An eager call runs once and takes its closure with it.
void CUDART_CB RunAndDelete(void* closure) {
  std::unique_ptr<StreamCallback> owned(static_cast<StreamCallback*>(closure));
  CallOrEnd(*owned);
}

// A captured one runs at every replay; the graph owns the closure.
void CUDART_CB RunOnly(void* closure) { CallOrEnd(*static_cast<StreamCallback*>(closure)); }

void CUDART_CB DeleteClosure(void* closure) { delete static_cast<StreamCallback*>(closure); }

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> CudaStream::Make(std::shared_ptr<Context> context,
                                                         Device& device) {
  GRAPHTREE_RETURN_IF_ERROR(context->Usable());
  ContextScope current(context->primary());
  RelaxedScope relaxed(context->primary());
  cudaStream_t native = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(
      context->health(), cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking),
      [&] { return absl::StrCat("making a stream on ", context->name()); }));
  context->streams().Joined(native);
  return std::unique_ptr<Stream>(new CudaStream(std::move(context), device, native, true));
}

absl::StatusOr<std::unique_ptr<Stream>> CudaStream::Adopt(std::shared_ptr<Context> context,
                                                          Device& device, cudaStream_t native) {
  GRAPHTREE_RETURN_IF_ERROR(context->Usable());
  ContextScope current(context->primary());
  CUcontext owner = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context->health(), context->driver().StreamGetCtx(native, &owner),
               [&] { return absl::StrCat("adopting a stream for ", context->name()); }));
  if (owner != context->primary().native()) {
    return DeviceError(ErrorCode::kInvalidHandle,
                       absl::StrCat("adopting a stream for ", context->name(),
                                    ": it belongs to another device or to a context that is not "
                                    "the primary one"));
  }
  return std::unique_ptr<Stream>(new CudaStream(std::move(context), device, native, false));
}

CudaStream::~CudaStream() {
  ContextScope current(context_->primary());
  if (capture_id_.load() != 0) {
    cudaGraph_t unfinished = nullptr;
    ClearIfFailed(cudaStreamEndCapture(native_, &unfinished));
    GraphHandle dropped(unfinished);
    ForgetCapture();
  }
  EndLife([this] { return device_.NewEvent({}); });
  if (owned_) {
    RelaxedScope relaxed(context_->primary());
    context_->streams().Retire(native_);
  }
}

std::string CudaStream::Name() const {
  return absl::StrCat(owned_ ? "a stream of " : "an adopted stream of ", context_->name());
}

absl::Status CudaStream::Launch(const Kernel& kernel, const LaunchShape& shape,
                                Arguments arguments) {
  if (context_->health().lost()) return context_->health().status();
  const std::string mismatch = ArgumentMismatch(kernel, arguments);
  if (!mismatch.empty()) return DeviceError(ErrorCode::kInvalidValue, mismatch);
  if (!ShapeFits(shape)) {
    return DeviceError(ErrorCode::kInvalidConfiguration,
                       absl::StrCat("launching kernel ", kernel.name(), ": ", ShapeFlaw(shape)));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(LoadedKernel * loaded, context_->kernels().Get(kernel));
  if (!loaded->Allows(shape.shared_bytes)) {
    GRAPHTREE_RETURN_IF_ERROR(context_->kernels().AllowShared(*loaded, shape.shared_bytes));
  }
  CUlaunchAttribute early = {};
  early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  early.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {};
  config.gridDimX = shape.grid.x;
  config.gridDimY = shape.grid.y;
  config.gridDimZ = shape.grid.z;
  config.blockDimX = shape.block.x;
  config.blockDimY = shape.block.y;
  config.blockDimZ = shape.block.z;
  config.sharedMemBytes = shape.shared_bytes;
  config.hStream = native_;
  config.attrs = shape.programmatic ? &early : nullptr;
  config.numAttrs = shape.programmatic ? 1 : 0;
  ArgumentPointers pointers(arguments);
  ContextScope current(context_->primary());
  return ToStatus(
      context_->health(),
      context_->driver().LaunchKernelEx(&config, loaded->function(), pointers.data(), nullptr),
      [&] {
        return absl::StrCat("launching kernel ", kernel.name(), " with grid ", shape.grid.x, "x",
                            shape.grid.y, "x", shape.grid.z, ", block ", shape.block.x, "x",
                            shape.block.y, "x", shape.block.z, ", ", shape.shared_bytes,
                            " bytes of shared memory on ", Name());
      });
}

absl::Status CudaStream::CheckCapturedCopy(Address address) {
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  const CUresult known = context_->driver().PointerGetAttribute(
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, static_cast<CUdeviceptr>(address));
  if (known == CUDA_SUCCESS) return absl::OkStatus();
  return DeviceError(ErrorCode::kCaptureUnsupported,
                     absl::StrCat("copying to or from 0x", absl::Hex(address), " in a capture on ",
                                  Name(), ": it is neither mapped device memory nor page-locked "
                                  "host memory (Memory::AllocateHost)"));
}

absl::Status CudaStream::Copy(Address target, Address source, uint64_t bytes) {
  if (context_->health().lost()) return context_->health().status();
  if (bytes == 0) return absl::OkStatus();
  ContextScope current(context_->primary());
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  ClearIfFailed(cudaStreamIsCapturing(native_, &capturing));
  if (capturing == cudaStreamCaptureStatusActive) {
    GRAPHTREE_RETURN_IF_ERROR(CheckCapturedCopy(target));
    GRAPHTREE_RETURN_IF_ERROR(CheckCapturedCopy(source));
  }
  return ToStatus(context_->health(),
                  cudaMemcpyAsync(PointerTo(target), PointerTo(source), bytes, cudaMemcpyDefault,
                                  native_),
                  [&] {
                    return absl::StrCat("copying ", bytes, " bytes from 0x", absl::Hex(source),
                                        " to 0x", absl::Hex(target), " on ", Name());
                  });
}

absl::Status CudaStream::Fill(Address target, uint32_t value, uint32_t width, uint64_t count) {
  if (context_->health().lost()) return context_->health().status();
  const auto what = [&] {
    return absl::StrCat("filling ", count, " elements of ", width, " bytes at 0x",
                        absl::Hex(target), " on ", Name());
  };
  const std::string flaw = FillFlaw({target, value, width, count});
  if (!flaw.empty()) {
    return DeviceError(ErrorCode::kInvalidValue, absl::StrCat(what(), ": ", flaw));
  }
  if (count == 0) return absl::OkStatus();
  ContextScope current(context_->primary());
  const Driver& driver = context_->driver();
  CUresult result = CUDA_SUCCESS;
  if (width == 1) {
    result = driver.MemsetD8Async(target, static_cast<unsigned char>(value), count, native_);
  } else if (width == 2) {
    result = driver.MemsetD16Async(target, static_cast<unsigned short>(value), count, native_);
  } else {
    result = driver.MemsetD32Async(target, value, count, native_);
  }
  return ToStatus(context_->health(), result, what);
}

absl::Status CudaStream::CallHost(std::function<void()> function) {
  if (context_->health().lost()) return context_->health().status();
  if (function == nullptr) {
    return DeviceError(ErrorCode::kInvalidValue, absl::StrCat("calling no function on ", Name()));
  }
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);  // no capture begins or ends in between
  GRAPHTREE_ASSIGN_OR_RETURN(OpenCapture capture, LookAtCapture());
  if (capture.status == cudaStreamCaptureStatusActive) {
    return CallHostInCapture(capture.graph, std::move(function));
  }
  auto closure = std::make_unique<StreamCallback>(std::move(function), &*context_);
  absl::Status status =
      ToStatus(context_->health(), cudaLaunchHostFunc(native_, RunAndDelete, closure.get()),
               [&] { return absl::StrCat("calling a host function on ", Name()); });
  if (status.ok()) closure.release();
  return status;
}

// The graph and every executable made from it keep the closure until the last of them is gone and
// its launches have ended.
absl::Status CudaStream::CallHostInCapture(cudaGraph_t graph, std::function<void()> function) {
  const auto what = [&] { return absl::StrCat("capturing a host function on ", Name()); };
  auto closure = std::make_unique<StreamCallback>(std::move(function), &*context_);
  cudaUserObject_t object = nullptr;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(context_->health(),
                                     cudaUserObjectCreate(&object, closure.get(), DeleteClosure, 1,
                                                          cudaUserObjectNoDestructorSync),
                                     what));
  StreamCallback* kept = closure.release();  // now the object's
  absl::Status status =
      ToStatus(context_->health(),
               cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove), what);
  if (!status.ok()) {
    ClearIfFailed(cudaUserObjectRelease(object, 1));
    return status;
  }
  return ToStatus(context_->health(), cudaLaunchHostFunc(native_, RunOnly, kept), what);
}

absl::Status CudaStream::Record(Event& event) {
  if (context_->health().lost()) return context_->health().status();
  GRAPHTREE_ASSIGN_OR_RETURN(cudaEvent_t native, NativeEvent(event, *context_, "recording"));
  ContextScope current(context_->primary());
  return ToStatus(context_->health(), cudaEventRecord(native, native_),
                  [&] { return absl::StrCat("recording an event on ", Name()); });
}

// CUDA takes the flag in captures only.
absl::Status CudaStream::RecordExternal(Event& event) {
  if (context_->health().lost()) return context_->health().status();
  GRAPHTREE_ASSIGN_OR_RETURN(CudaEvent * const ours, EventOf(event, *context_, "recording"));
  ContextScope current(context_->primary());
  std::lock_guard<std::mutex> lock(mutex_);  // no capture begins or ends in between
  GRAPHTREE_ASSIGN_OR_RETURN(const OpenCapture capture, LookAtCapture());
  const bool captured = capture.status == cudaStreamCaptureStatusActive;
  const unsigned flags = captured ? cudaEventRecordExternal : cudaEventRecordDefault;
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(
      context_->health(), cudaEventRecordWithFlags(ours->native(), native_, flags), [&] {
        return absl::StrCat("recording an event", captured ? " of a graph's" : "", " on ", Name());
      }));
  if (captured) context_->captures().Keep(capture.id, ours->shared_native());
  return absl::OkStatus();
}

absl::Status CudaStream::Wait(Event& event) {
  if (context_->health().lost()) return context_->health().status();
  GRAPHTREE_ASSIGN_OR_RETURN(cudaEvent_t native, NativeEvent(event, *context_, "waiting for"));
  ContextScope current(context_->primary());
  return ToStatus(context_->health(), cudaStreamWaitEvent(native_, native, 0),
                  [&] { return absl::StrCat("making ", Name(), " wait for an event"); });
}

absl::StatusOr<bool> CudaStream::IsDone() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  const cudaError_t error = cudaStreamQuery(native_);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(context_->health(), error, [&] {
    return absl::StrCat("asking ", Name(), " whether it is done");
  }));
  return true;
}

absl::Status CudaStream::Synchronize() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  return ToStatus(context_->health(), cudaStreamSynchronize(native_),
                  [&] { return absl::StrCat("waiting for ", Name()); });
}

}  // namespace graphtree
