// Streams and events: work in order, and order between streams.
//
// The same calls run work now or, while a capture is open on the stream, record it into a graph:
// the code that launches need not know which. A capture follows events to other streams, which must
// be joined (their last work awaited) before it ends.
//
//   capture states
//
//   kNone --BeginCapture--> kActive --EndCapture--> kNone, and a Graph comes back
//                              |
//                    a forbidden call (see below)
//                              v
//                         kInvalidated --EndCapture--> kNone, and an error comes back
//
// Forbidden on a capturing stream: Synchronize, IsDone, and an event that a capture recorded being
// synchronised or queried; ending a capture twice, on a stream that did not begin it, on another
// thread than the one that began it (unless relaxed), or with unjoined work. Codes are CUDA's.
// Another thread's capture never disturbs this one's work, nor the other way round: captures are
// thread-local unless asked otherwise.
//
// An event may also be recorded from the middle of a graph, for whoever stands outside:
//
//   graph    read the inputs -> RecordExternal(e) -> compute for long
//   outside  Launch -> other.Wait(e) -> write the inputs anew, while the graph computes
//
// Every launch of an executable of that graph sets the event, as Record would: when Launch has
// returned the event stands for that launch, and is done once the op has run. Capturing leaves the
// event as it was. An event that several graphs record stands for what was launched last.
//
// A stream may be destroyed while its work is yet to run: the work runs all the same, and whoever
// holds the stream's life can still order later work after it (stream_life.h).
//
// Threads: calls on one stream from several threads are safe and run in some order.
#ifndef GRAPHTREE_DEVICE_STREAM_H_
#define GRAPHTREE_DEVICE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/address.h"
#include "device/graph.h"
#include "device/kernel.h"
#include "device/stream_life.h"

namespace graphtree {

class Device;

// A point in a stream's work, set by Stream::Record. Fresh events count as done.
class Event {
 public:
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  virtual absl::StatusOr<bool> IsDone() = 0;
  virtual absl::Status Synchronize() = 0;
  // Time from `start` to this event. REQUIRES: both were created with timing and are done.
  virtual absl::StatusOr<double> NanosecondsSince(Event& start) = 0;

 protected:
  Event() = default;
};

enum class CaptureMode : uint8_t { kGlobal, kThreadLocal, kRelaxed };
enum class CaptureState : uint8_t { kNone, kActive, kInvalidated };

struct CaptureInfo {
  CaptureState state = CaptureState::kNone;
  uint64_t id = 0;    // differs for every capture of the process; 0 if none
  bool ours = false;  // begun through this interface, not by the caller on the native stream
};

class Stream {
 public:
  virtual ~Stream() { life_->EndUntold(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  virtual Device& device() const = 0;

  // For whoever may have to order work after this stream's once the stream is destroyed.
  const std::shared_ptr<StreamLife>& life() const { return life_; }

  // Work. The host side of a captured copy must be page-locked (Memory::AllocateHost).
  virtual absl::Status Launch(const Kernel& kernel, const LaunchShape& shape,
                              Arguments arguments) = 0;
  virtual absl::Status Copy(Address target, Address source, uint64_t bytes) = 0;
  // Writes `count` elements of `width` bytes (1, 2 or 4), each the low bytes of `value`.
  virtual absl::Status Fill(Address target, uint32_t value, uint32_t width, uint64_t count) = 0;
  // Calls `function` in stream order, on a thread of the device's. `function` must not call the
  // device. If it throws, the host device is lost, as after an op that faults; on CUDA the process
  // ends with a message, as the driver's thread has nobody to tell.
  virtual absl::Status CallHost(std::function<void()> function) = 0;

  // Order.
  virtual absl::Status Record(Event& event) = 0;
  // The same; while a capture is open, an op of the graph that sets the event in every replay. The
  // graph and its executables keep what they need of the event, so the event may go before them;
  // but not before the graph of a capture that was begun on the native stream.
  virtual absl::Status RecordExternal(Event& event) = 0;
  virtual absl::Status Wait(Event& event) = 0;
  virtual absl::StatusOr<bool> IsDone() = 0;
  virtual absl::Status Synchronize() = 0;

  // Capture.
  virtual absl::Status BeginCapture(CaptureMode mode) = 0;
  virtual absl::StatusOr<CaptureInfo> Capture() = 0;
  // False also where the device cannot say, as one that is lost.
  bool IsCapturing() {
    const absl::StatusOr<CaptureInfo> capture = Capture();
    return capture.ok() && capture->state != CaptureState::kNone;
  }
  virtual absl::StatusOr<std::unique_ptr<Graph>> EndCapture() = 0;
  // The op that this stream captured last; several after a join. REQUIRES: a capture is active.
  virtual absl::StatusOr<std::vector<OpToken>> CaptureFrontier() = 0;
  // The ops captured so far, also of a capture that the caller opened on the native stream.
  virtual absl::StatusOr<std::vector<Op>> CapturedOps() = 0;
  // How many these are, which costs no listing.
  virtual absl::StatusOr<size_t> CapturedOpCount() = 0;

 protected:
  Stream() : life_(std::make_shared<StreamLife>(this)) {}
  // Every kind of stream calls this first in its destructor, while the stream still works.
  void EndLife(StreamLife::NewEvent new_event) {
    if (life_.use_count() > 1) life_->End(new_event);
  }
  // Every kind of stream begins a capture in here: what was put on it before can then be awaited
  // while it captures.
  absl::Status BeginBehindEvent(StreamLife::NewEvent new_event,
                                absl::FunctionRef<absl::Status()> begin) {
    return life_.use_count() > 1 ? life_->BeginCapture(new_event, begin) : begin();
  }

 private:
  const std::shared_ptr<StreamLife> life_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_STREAM_H_
