// Events of a CUDA device. An event may be queried while any capture is open, unless a capture
// recorded it. Graphs that set an event share its native handle, as CUDA lets an event go from
// under a graph without a word.
//
// Threads: as device/stream.h says.
#ifndef GRAPHTREE_DEVICE_CUDA_CUDA_EVENT_H_
#define GRAPHTREE_DEVICE_CUDA_CUDA_EVENT_H_

#include <memory>

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/context.h"
#include "device/cuda/handles.h"
#include "device/stream.h"

namespace graphtree {

class CudaEvent final : public Event {
 public:
  static absl::StatusOr<std::unique_ptr<Event>> Make(std::shared_ptr<Context> context, bool timing);
  ~CudaEvent() override;

  absl::StatusOr<bool> IsDone() override;
  absl::Status Synchronize() override;
  absl::StatusOr<double> NanosecondsSince(Event& start) override;

  cudaEvent_t native() const { return native_->get(); }
  const std::shared_ptr<const EventHandle>& shared_native() const { return native_; }
  const Context& context() const { return *context_; }

 private:
  CudaEvent(std::shared_ptr<Context> context, EventHandle native)
      : context_(std::move(context), Kind::kEvent),
        native_(std::make_shared<const EventHandle>(std::move(native))) {}

  const Membership context_;
  std::shared_ptr<const EventHandle> native_;
};

// The event, if it is one of `context`'s; else an error that says what was tried.
absl::StatusOr<CudaEvent*> EventOf(Event& event, const Context& context, const char* what);
// The same, its native event.
absl::StatusOr<cudaEvent_t> NativeEvent(Event& event, const Context& context, const char* what);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_CUDA_EVENT_H_
