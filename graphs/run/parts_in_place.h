// Runs the eager parts of a body that is not recorded, each where the body breaks:
//
//   body's stream     op op |                | op op
//   caller's stream         | part, its ops  |
//
// A part's work goes to the caller's stream, in every kind of run alike (part_runner.h).
//
// Threads: the tree's caller. Used for one run.
#ifndef GRAPHTREE_GRAPHS_RUN_PARTS_IN_PLACE_H_
#define GRAPHTREE_GRAPHS_RUN_PARTS_IN_PLACE_H_

#include <optional>

#include "absl/status/status.h"
#include "device/stream.h"
#include "graphs/check/body_check.h"
#include "graphs/eager_part.h"
#include "graphs/inputs/access_log.h"
#include "graphs/inputs/clone_watch.h"
#include "graphs/launcher.h"
#include "graphs/memory/eager_traces.h"
#include "graphs/memory/part_runner.h"
#include "graphs/memory/step_memory.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/ground.h"
#include "graphs/run/launch_watch.h"

namespace graphtree {

class PartsInPlace : public Cutter {
 public:
  // All outlive this object. `stream` and `memory` are the body's; `log` has the body's accesses.
  PartsInPlace(Ground& ground, CallJournal& journal, const Call& call, Stream& stream,
               const StepAllocator& memory, EagerTraces* traces, AccessLog* log, Launcher* body);
  // The body was given copies of inputs; may be null.
  void SetWatch(CloneWatch* watch);
  // Checked mode compares the inputs around the run; may be null.
  void SetCheck(BodyCheck* check) { check_ = check; }
  absl::Status Cut(BreakRequest request) override;

 private:
  void NoteWrite(const PartRunner::Write& write);

  Ground& ground_;
  CallJournal& journal_;
  const Function& function_;
  Stream& caller_;
  Stream& stream_;
  const StepAllocator& memory_;
  EagerTraces* const traces_;
  AccessLog* const log_;
  Launcher* const body_;
  CloneWatch* watch_ = nullptr;
  BodyCheck* check_ = nullptr;
  PartRunner parts_;
  std::optional<LaunchWatch> launches_;  // of the parts; or nobody wants that
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_PARTS_IN_PLACE_H_
