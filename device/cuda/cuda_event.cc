// Making, asking and waiting for events.
#include "device/cuda/cuda_event.h"

#include <memory>
#include <typeinfo>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_status.h"
#include "device/error.h"

namespace graphtree {
namespace {

// CUDA calls an event invalid whose last record was captured and whose capture has ended.
const char* Hint(cudaError_t error) {
  return error == cudaErrorInvalidValue
             ? " (it may have been recorded last in a capture that has ended)"
             : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Event>> CudaEvent::Make(std::shared_ptr<Context> context,
                                                       bool timing) {
  GRAPHTREE_RETURN_IF_ERROR(context->Usable());
  ContextScope current(context->primary());
  cudaEvent_t native = nullptr;
  const unsigned flags = timing ? cudaEventDefault : cudaEventDisableTiming;
  GRAPHTREE_RETURN_IF_ERROR(
      ToStatus(context->health(), cudaEventCreateWithFlags(&native, flags),
               [&] { return absl::StrCat("making an event on ", context->name()); }));
  return std::unique_ptr<Event>(new CudaEvent(std::move(context), EventHandle(native)));
}

CudaEvent::~CudaEvent() {
  ContextScope current(context_->primary());
  native_.reset();
}

absl::StatusOr<bool> CudaEvent::IsDone() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  const cudaError_t error = cudaEventQuery(native());
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(context_->health(), error, [&] {
    return absl::StrCat("asking an event of ", context_->name(), " whether it is done",
                        Hint(error));
  }));
  return true;
}

absl::Status CudaEvent::Synchronize() {
  if (context_->health().lost()) return context_->health().status();
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  const cudaError_t error = cudaEventSynchronize(native());
  return ToStatus(context_->health(), error, [&] {
    return absl::StrCat("waiting for an event of ", context_->name(), Hint(error));
  });
}

absl::StatusOr<double> CudaEvent::NanosecondsSince(Event& start) {
  if (context_->health().lost()) return context_->health().status();
  GRAPHTREE_ASSIGN_OR_RETURN(cudaEvent_t from, NativeEvent(start, *context_, "timing from"));
  ContextScope current(context_->primary());
  RelaxedScope relaxed(context_->primary());
  float milliseconds = 0;
  const cudaError_t error = cudaEventElapsedTime(&milliseconds, from, native());
  GRAPHTREE_RETURN_IF_ERROR(ToStatus(context_->health(), error, [&] {
    return absl::StrCat("timing between two events of ", context_->name(),
                        error == cudaErrorNotReady
                            ? ", one of which is not done,"
                            : " (both need timing and must have been recorded)");
  }));
  return static_cast<double>(milliseconds) * 1e6;
}

absl::StatusOr<CudaEvent*> EventOf(Event& event, const Context& context, const char* what) {
  if (typeid(event) == typeid(CudaEvent)) {
    auto& ours = static_cast<CudaEvent&>(event);
    if (&ours.context() == &context) return &ours;
  }
  return DeviceError(ErrorCode::kInvalidHandle,
                     absl::StrCat(what, " an event of another device than ", context.name()));
}

absl::StatusOr<cudaEvent_t> NativeEvent(Event& event, const Context& context, const char* what) {
  GRAPHTREE_ASSIGN_OR_RETURN(CudaEvent * const ours, EventOf(event, context, what));
  return ours->native();
}

}  // namespace graphtree
