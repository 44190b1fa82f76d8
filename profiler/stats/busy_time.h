// BusyTime: how long devices had work, of all the ops that they ran.
//
//   stream 1   |==A==|      |==C==|
//   stream 2      |==B==|
//   busy       |--------|   |-----|      counted once where ops run side by side
//
// Ops come about in the order of their ends; a window of a few puts them into the order of their
// begins (in_order.h). Devices beyond the first 1,024 count for nothing.
//
// Not safe for concurrent use.
#ifndef GRAPHTREE_PROFILER_STATS_BUSY_TIME_H_
#define GRAPHTREE_PROFILER_STATS_BUSY_TIME_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "profiler/stats/in_order.h"

namespace graphtree::trace {

class BusyTime {
 public:
  void Add(int32_t device, int64_t start_ns, int64_t end_ns) {
    if (devices_.size() >= kMostDevices && !devices_.contains(device)) return;
    Device& of = devices_[device];
    Stay leaves;
    if (of.coming.Push({start_ns, end_ns}, leaves)) Count(leaves, &of);
  }
  // No op comes any more: what is in the windows counts, too.
  void End() {
    for (auto& [number, device] : devices_) {
      for (Stay stay; device.coming.Pop(stay);) Count(stay, &device);
    }
  }
  double ns() const { return ns_; }

 private:
  static constexpr size_t kMostDevices = 1024;

  struct Stay {
    int64_t start_ns, end_ns;
  };
  struct Device {
    InOrder<Stay, 64> coming = {};
    int64_t end_ns = std::numeric_limits<int64_t>::min();  // of all that was counted
  };

  void Count(const Stay& stay, Device* device) {
    const int64_t from = std::max(device->end_ns, stay.start_ns);
    device->end_ns = std::max(device->end_ns, stay.end_ns);
    ns_ += static_cast<double>(std::max<int64_t>(0, stay.end_ns - from));
  }

  absl::flat_hash_map<int32_t, Device> devices_;
  double ns_ = 0;
};

}  // namespace graphtree::trace

#endif  // GRAPHTREE_PROFILER_STATS_BUSY_TIME_H_
