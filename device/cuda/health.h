// Whether a device still works. The first error that kills its context is kept for ever: every
// later call returns it, so that the cause is not buried under its consequences.
//
// Threads: safe from all. Asking costs one load while all is well.
#ifndef GRAPHTREE_DEVICE_CUDA_HEALTH_H_
#define GRAPHTREE_DEVICE_CUDA_HEALTH_H_

#include <atomic>
#include <mutex>

#include "absl/status/status.h"
#include "device/error.h"

namespace graphtree {

class Health {
 public:
  bool lost() const { return lost_.load(std::memory_order_acquire); }

  // OK, or the error that lost the device.
  absl::Status status() const {
    if (!lost()) return absl::OkStatus();
    std::lock_guard<std::mutex> lock(mutex_);
    return first_;
  }

  // Hears of a failed call; if it is the first that kills the device, the device is lost.
  void Heard(const absl::Status& status) {
    if (status.ok() || !KillsDevice(ErrorCodeOf(status))) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (!first_.ok()) return;
    first_ = status;
    lost_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  absl::Status first_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_HEALTH_H_
