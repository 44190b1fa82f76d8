// Runs a function's body at once: as a warm-up in the tree's own memory, or eagerly, outside of it.
//
//   WarmUp   on the tree's own stream, memory from the step region: its outputs are on the path,
//            and the next call may record
//   Run      on the caller's stream, memory from the lasting region; counted and told with a reason
//
// Both go through RunNow. The effects of a body that fails are taken back (eager_traces.h). Whether
// the body fails or not, the caller's stream goes on after its work: that work reads and writes
// memory that the caller may use for something else next.
//
// A body that has begun has effects and may not run twice. So where its region is full its memory
// comes from the other one (StepAllocator), and a failure is the call's error.
//
// Threads: the tree's caller.
#ifndef GRAPHTREE_GRAPHS_RUN_EAGER_RUNNER_H_
#define GRAPHTREE_GRAPHS_RUN_EAGER_RUNNER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "device/stream.h"
#include "graphs/body/requests.h"
#include "graphs/match/input_roles.h"
#include "graphs/recording/given_inputs.h"
#include "graphs/run/body_runner.h"
#include "graphs/run/books.h"
#include "graphs/run/call.h"
#include "graphs/run/call_journal.h"
#include "graphs/run/checked_mode.h"
#include "graphs/run/entrance.h"
#include "graphs/run/functions.h"
#include "graphs/run/ground.h"
#include "graphs/run/kept_outputs.h"
#include "graphs/run/why_eager.h"
#include "graphs/tensor.h"

namespace graphtree {

class AlignedInputs;
class EagerTraces;
class Launcher;

class EagerRunner {
 public:
  // What a runner uses; all outlive it.
  struct Needs {
    Ground& ground;
    Entrance& entrance;
    Books& books;
    CallJournal& journal;
    CheckedMode& checks;
    Functions& functions;
    KeptOutputs& kept;
    BodyRunner& body;
    WhyEager& why;
  };
  explicit EagerRunner(const Needs& needs) : needs_(needs) {}
  EagerRunner(const EagerRunner&) = delete;
  EagerRunner& operator=(const EagerRunner&) = delete;

  // `roles` are the inputs' own ones (CallRoles).
  absl::Status WarmUp(Call& call, absl::Span<const InputRole> roles);
  // `detail` goes into the warning, or into the error if strict. If it is empty, WhyEager writes
  // it, from `roles` among others: how a recording would have taken the inputs, as far as that is
  // known.
  absl::Status Run(Call& call, Reason reason, absl::Span<const RoleChoice> roles,
                   const std::string& detail = "");

 private:
  // The results of a body's run.
  struct BodyRun {
    GivenInputs* given = nullptr;  // of a warm-up
    Values outputs;
    BodyRequests requests;
  };

  absl::Status WarmUpInside(Call& call, absl::Span<const InputRole> roles);
  absl::Status RunNow(Call& call, Stream& stream, StepAllocator& allocator, Values* inputs,
                      BodyRun* run);
  absl::Status HandOut(const Call& call, StepAllocator& allocator, const Values& outputs);
  absl::Status RunTraced(Call& call, Stream& stream, StepAllocator& allocator, Values* inputs,
                         BodyRun* run, EagerTraces* traces);
  void RunBody(const Call& call, Stream& stream, const AlignedInputs& aligned, Values* inputs,
               Launcher* on, BodyRun* run);
  void AppendWarmUp(Call& call, const Values& outputs, const StepAllocator& allocator);

  const Needs needs_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_EAGER_RUNNER_H_
