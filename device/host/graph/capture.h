// The rules of capturing, which are CUDA's: what a capture is, what joins it, what spoils it.
//
//   stream a   Begin ---- op 0 ---- record e ------------- wait f ---- End -> ops and edges
//   stream b                           `-- wait e - op 1 - record f -^
//
// b joins when it waits for an event that a captured, and need not be told. Every stream of a
// capture has a frontier: the ops that its next op will wait for. What spoils a capture
// (synchronising one of its streams, reaching over its border, merging two) invalidates it: it
// stays open, takes nothing more and fails when it ends. The codes were taken from a GPU (driver
// 580, CUDA 13.0):
//
//   what                                                         code   the capture is then
//   work or a wait in an invalidated capture                     901    invalidated
//   synchronise or query a capturing stream                      900    invalidated
//   synchronise or query an event that it recorded               907    invalidated
//   ... once it has ended; also waiting for such an event          1    (a capturing waiter's is)
//   time between events, one of them captured                    907    as before
//   wait for an event that was recorded outside                  905    invalidated
//   wait for another capture's event                             902    both are invalidated
//   the legacy stream waits for its event                        906    invalidated
//   launch an executable on a capturing stream                   900    invalidated
//   begin on the legacy stream                                   900    -
//   begin on a stream that captures, end one that does not       401    as before
//   end on a stream that joined it                               903    invalidated
//   allocate past the device, forbidden by the capture's mode    900    invalidated
//   end on another thread, unless relaxed                        908    gone
//   end with work that the first stream does not come after      904    gone
//   destroy the stream that began it                             -      gone
//
// CUDA also refuses to wait for streams outside of a capture, in every thread or in the one that
// has the capture, unless the thread says that it may. A Device always says so, hence the mode
// decides only who may end a capture and what code that knows nothing of a Device may do.
//
// Pure bookkeeping: no lock; callers say which thread they are.
#ifndef GRAPHTREE_DEVICE_HOST_GRAPH_CAPTURE_H_
#define GRAPHTREE_DEVICE_HOST_GRAPH_CAPTURE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/graph.h"
#include "device/host/ops/work.h"
#include "device/stream.h"

namespace graphtree::host {

struct CapturePart;

struct Capture {
  uint64_t id = 0;
  CaptureMode mode = CaptureMode::kThreadLocal;
  std::thread::id thread;
  bool ours = true;
  bool ended = false;
  std::string spoiled_by;  // empty while it is valid
  std::vector<Op> ops;
  std::vector<Work> works;
  std::vector<bool> followed;  // some op waits for it
  CapturePart* origin = nullptr;
  std::vector<CapturePart*> parts;

  OpToken TokenOf(OpId op) const { return {id << 32 | (op + 1)}; }
};

// A stream's share in a capture.
struct CapturePart {
  std::string stream_name;
  bool legacy = false;
  std::shared_ptr<Capture> capture;  // null: the stream does not capture
  std::vector<OpId> frontier;
};

// What an event recorded, if a capture recorded it.
struct CaptureMark {
  bool captured = false;
  std::weak_ptr<Capture> capture;
  std::vector<OpId> frontier;
};

class Captures {
 public:
  absl::Status Begin(CapturePart& part, CaptureMode mode, std::thread::id thread, bool ours);
  // The capture is over in any case but 401 and 903.
  absl::StatusOr<std::shared_ptr<Capture>> End(CapturePart& part, std::thread::id thread);
  // The stream goes away.
  void Leave(CapturePart& part);

  // REQUIRES: the part captures. Says no if the capture was invalidated.
  absl::Status MayAppend(const CapturePart& part, absl::string_view what) const;
  // REQUIRES: MayAppend. `op` comes without id and dependencies.
  OpId Append(CapturePart& part, Op op, Work work);
  CaptureMark Record(const CapturePart& part) const;
  // For a captured event, or any event if the part captures; joins the capture or is refused.
  absl::Status Wait(CapturePart& part, const CaptureMark& mark);

  // May the host wait for this stream, or this event, or ask for its state?
  absl::Status MayWaitFor(CapturePart& part, absl::string_view what);
  absl::Status MayWaitFor(const CaptureMark& mark, absl::string_view what);
  absl::Status MayTime(const CaptureMark& mark) const;
  // May a thread make a call that is unsafe in captures, and did not say that it may?
  absl::Status MayCallUnsafely(std::thread::id thread, absl::string_view what);

  // Begun through our interface. May be asked without the engine's lock.
  int open() const { return ours_.load(std::memory_order_acquire); }

 private:
  static void Spoil(Capture& capture, absl::string_view by);
  void Detach(Capture& capture);

  std::vector<std::shared_ptr<Capture>> open_;
  std::atomic<int> ours_{0};
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_GRAPH_CAPTURE_H_
