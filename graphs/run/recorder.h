// Records a function: its body is captured (body_capture.h), the graph becomes a node, is launched
// once, and hangs in the tree. If anything fails, everything is as before.
//
//   books restored, checkpoint taken
//     capture scope of the pool opens          <--+  rolled back where anything below fails, and
//       body under capture                        |  the call has its inputs back
//     scope committed, graph launched (*)         |
//   books: the path goes on with the node         |
//                                                 |
//   a library takes an input: the first capture is a rehearsal, only to be compared with the second
//
// (*) Not for Tree::Record: there the recording hangs in the tree, and the path stays where it was.
//
// After a recording that was given up, its caller goes on as RecordOutcome says: the call runs
// eagerly, or warms up, or is recorded again with what this recording has shown. Each time one more
// input is known to be hidden or written, so that this ends.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_RECORDER_H_
#define GRAPHTREE_GRAPHS_RUN_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "allocator/pool.h"
#include "graphs/inputs/rehearsal.h"
#include "graphs/match/input_roles.h"
#include "graphs/memory/step_memory.h"
#include "graphs/recording/given_inputs.h"
#include "graphs/recording/node.h"
#include "graphs/run/body_capture.h"
#include "graphs/run/call.h"
#include "graphs/run/draft.h"
#include "graphs/run/entrance.h"
#include "graphs/tensor.h"

namespace graphtree {

struct RecordOutcome {
  enum class Next : uint8_t {
    kDone,       // recorded and launched, or failed for good: `status`
    // The call has its inputs back. `reason` and `detail` say why it was not recorded.
    kEagerly,    // it runs eagerly
    kWarmUp,     // it warms up
    kAgain,      // it is recorded again
    kRehearsed,  // inside of Record only: the rehearsal is done
  };
  Next next = Next::kDone;
  absl::Status status;
  Reason reason = Reason::kRecordFailed;
  std::string detail;
};

class Recorder {
 public:
  // All outlive it.
  Recorder(const BodyCapture::Needs& needs, Entrance& entrance)
      : needs_(needs), entrance_(entrance) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // `roles.chosen` say how the recording takes each input.
  RecordOutcome Record(Call& call, const CallRoles& roles);
  // A call is recorded at most so often in a row: each time one more input is shown to be hidden or
  // written, or the kept outputs to be hidden.
  static size_t MostRecordings(const Call& call) { return 2 * call.inputs.size() + 2; }

 private:
  // One attempt, with all that has to be put back if it fails.
  struct Attempt;

  RecordOutcome RecordInside(Call& call, const CallRoles& roles);
  RecordOutcome RecordFrom(CheckpointId before, const InputPlan& plan, Rehearsal* rehearsal,
                           Call& call);
  absl::Status RollBack(CheckpointId before, CaptureScope* scope, bool was_committed);
  // Rolls the books back and gives the call its inputs back.
  absl::Status RollBackAttempt(CheckpointId before, Attempt* attempt, Call& call);
  RecordOutcome GiveUp(const Draft& draft, Call& call);
  // OK if the body has stored none of its tensors.
  static absl::Status KeepsNothing(Attempt& attempt);
  // Makes the recording ready to be launched on the call's stream.
  absl::Status Settle(Attempt* attempt, const Call& call);
  absl::Status LaunchFirst(Attempt* attempt, const Call& call);
  // The recording is good: makes it hold the foreign blocks that it needs.
  void HoldForeign(Node* node);
  void NoteConsumed(const Values& originals, const GivenInputs& given, Node* node);
  absl::Status Attach(Attempt* attempt, Call& call);
  void CountRecording(Node* node);

  const BodyCapture::Needs needs_;
  Entrance& entrance_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_RECORDER_H_
