// The observers of a body while its ops are captured, in one chain.
//
//   body --> Launcher --> work --> writes --> holds --> ops --> pointers
//                         |        |          |         |       |
//                         |        |          |         |       which inputs each op takes
//                         |        |          |         where each op was launched (checked mode)
//                         |        |          memory that the body uses without being given it
//                         |        memory that the body writes
//                         work that is missing from the recording
//
// Threads: the capture's thread. Used for one recording.
#ifndef GRAPHTREE_GRAPHS_RUN_CAPTURE_LISTENERS_H_
#define GRAPHTREE_GRAPHS_RUN_CAPTURE_LISTENERS_H_

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "device/observer.h"
#include "device/stream.h"
#include "graphs/check/hold_log.h"
#include "graphs/inputs/pointer_log.h"
#include "graphs/launcher.h"
#include "graphs/listen/op_log.h"
#include "graphs/listen/work_log.h"
#include "graphs/listen/write_log.h"
#include "graphs/run/ground.h"
#include "graphs/tensor.h"

namespace graphtree {

class CaptureListeners {
 public:
  // What a capture is to find out about its body.
  struct Wishes {
    absl::Span<const Value> inputs;      // as the body is given them
    std::vector<const Storage*> pinned;  // of the caller's inputs that come at one address only
    uint64_t last_serial = 0;  // of storages of which it matters whether the body uses them
    std::vector<MarkedInput> marked;
    bool follows_outputs = false;  // ops that take outputs are listed, too
    bool sites = false;            // where ops are launched
    WriteLog::Sink on_write;
    HoldLog::Refuse refuse;
  };
  CaptureListeners(Ground& ground, Wishes wishes)
      : pointers_(*ground.capture_stream, wishes.inputs, std::move(wishes.marked),
                  wishes.follows_outputs),
        ops_(&pointers_, &ground.history->stacks()),
        holds_(wishes.sites ? static_cast<AccessObserver*>(&ops_) : &pointers_, *ground.memory,
               std::move(wishes.pinned), wishes.last_serial, std::move(wishes.refuse)),
        writes_(&holds_, std::move(wishes.on_write)),
        work_(&writes_) {}
  CaptureListeners(const CaptureListeners&) = delete;
  CaptureListeners& operator=(const CaptureListeners&) = delete;

  // The observer that the launcher calls.
  AccessObserver* first() { return &work_; }

  PointerLog& pointers() { return pointers_; }
  OpLog& ops() { return ops_; }
  HoldLog& holds() { return holds_; }
  WorkLog& work() { return work_; }

 private:
  PointerLog pointers_;
  OpLog ops_;
  HoldLog holds_;
  WriteLog writes_;
  WorkLog work_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_CAPTURE_LISTENERS_H_
