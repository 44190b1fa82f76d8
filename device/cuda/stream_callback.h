// A function that CUDA calls in stream order, on a thread of the driver's. It knows its device, as
// no device may be closed from inside one of its own host calls: closing waits for the stream that
// the call is part of.
//
// Threads: safe from all.
#ifndef GRAPHTREE_DEVICE_CUDA_STREAM_CALLBACK_H_
#define GRAPHTREE_DEVICE_CUDA_STREAM_CALLBACK_H_

#include <functional>
#include <utility>

namespace graphtree {

class StreamCallback {
 public:
  // `device` is only compared, never used.
  StreamCallback(std::function<void()> function, const void* device)
      : function_(std::move(function)), device_(device) {}

  void Run() const {
    const void* const outer = std::exchange(Running(), device_);
    function_();
    Running() = outer;
  }
  // Whether this thread is in a host call of the device's.
  static bool IsInside(const void* device) { return Running() == device; }

 private:
  static const void*& Running() {
    thread_local const void* running = nullptr;
    return running;
  }

  const std::function<void()> function_;
  const void* const device_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_STREAM_CALLBACK_H_
