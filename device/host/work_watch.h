// Watches what a host device does, as a profiler watches a GPU: which graph is launched, and when
// each op has run.
//
//   Launch  --> Launching(executable) -> a number --> ops ...  --> Done(op, that number, from, to)
//           --> Launched(executable)
//
// Told with the device locked, on the thread that launches or that runs the op: a watcher is quick,
// and calls neither the device nor anybody who waits for it. Cost while nobody watches: one test.
#ifndef GRAPHTREE_DEVICE_HOST_WORK_WATCH_H_
#define GRAPHTREE_DEVICE_HOST_WORK_WATCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "device/stream.h"

namespace graphtree {

struct HostWorkDone {
  int64_t start_ns = 0;  // of the steady clock
  int64_t end_ns = 0;
  uint64_t launch = 0;   // what Launching returned; 0: not of a graph, or launched unwatched
  const void* executable = nullptr;  // LaunchPlace::executable; null: not of a graph
  OpId op = 0;                       // in its graph
  OpKind kind = OpKind::kOther;
  uint32_t stream = 0;
  uint64_t bytes = 0;  // that a copy or a fill moves
  uint32_t fill_value = 0;
  LaunchShape shape = {};
  absl::string_view name;
};

class HostWorkWatcher {
 public:
  virtual ~HostWorkWatcher() = default;
  virtual uint64_t Launching(const void* executable) = 0;
  virtual void Launched(const void* executable) = 0;
  virtual void Done(const HostWorkDone& work) = 0;
};

// The number by which HostWorkDone knows the stream; an error for another kind of device's.
absl::StatusOr<uint32_t> HostStreamNumber(const Stream& stream);

// One watcher at a time; null: nobody watches any more, and nothing more is told when this returns.
// Fails for another kind of device, and where somebody else watches.
absl::Status WatchHostWork(Device& device, HostWorkWatcher* watcher);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_HOST_WORK_WATCH_H_
