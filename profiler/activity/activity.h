// What a device tells of its work while a profiler listens: one Activity for each op that ended.
//
//   source (CUPTI; its stand-in on the host device)
//      |  Op(activity)        kernel, copy, fill: when, where, of which launch, which op of a graph
//      |  Launched(launch)    on the launching thread, inside of the launch
//      |  Dropped(n), Note(text)
//      v
//   ActivityListener (the profile, which joins this with what the tree says)
//
// How to join, with no number of ours in any record:
//
//   Activity.graph         is source.IdOf(executable)
//   LocalNode(graph_node)  is the OpId of the op in the graph that the executable was made from
//   Activity.correlation   is source.CorrelationOf(executable), asked on the launching thread after
//                          the launch and before the executable is used again (thus in the event
//                          kReplayEnd); all ops of a launch have it
//
// Times are nanoseconds of the source's clock; clock_fit.h turns them into the host's.
//
// Threads: Op, Dropped and Note come from one thread at a time. Launched comes on whatever thread
// launches, from several at once, beside the others; it must be quick and must not launch.
#ifndef GRAPHTREE_PROFILER_ACTIVITY_ACTIVITY_H_
#define GRAPHTREE_PROFILER_ACTIVITY_ACTIVITY_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "device/kernel.h"

namespace graphtree::activity {

enum class ActivityKind : uint8_t { kKernel, kCopy, kFill };

// "kernel", "copy", "fill".
const char* NameOf(ActivityKind kind);

struct Activity {
  ActivityKind kind = ActivityKind::kKernel;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t correlation = 0;  // of the call that launched it
  uint64_t graph_node = 0;   // executable's id << 32 | op's id; 0 with `graph` 0: not of a graph
  uint32_t graph = 0;        // the executable's id; 0: not of a graph
  int32_t device = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  int64_t bytes = -1;        // that a copy or fill moves; -1: a kernel
  Dim3 grid = {0, 0, 0};     // kernels
  Dim3 block = {0, 0, 0};
  uint32_t static_shared = 0;
  uint32_t dynamic_shared = 0;
  uint16_t registers = 0;    // of a thread
  // A kernel's, as the device knows it (mangled on CUDA); what is copied where ("host to device").
  // Valid during the call only.
  absl::string_view name = {};
};

// A launch of a graph, told by the device on the launching thread.
struct LaunchSeen {
  uint64_t correlation = 0;
  const void* executable = nullptr;  // the device's own handle
  bool is_foreign = false;           // not launched through this library
};

class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  virtual void Op(const Activity& op) = 0;
  // Records for which there was no room, or that could not be read.
  virtual void Dropped(uint64_t records) = 0;
  // What a reader of the trace should know, in words.
  virtual void Note(absl::string_view remark) = 0;
  virtual void Launched(const LaunchSeen& launch) {}
};

}  // namespace graphtree::activity

#endif  // GRAPHTREE_PROFILER_ACTIVITY_ACTIVITY_H_
