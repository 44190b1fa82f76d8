// The runtime's inside, as the table of contents of a step:
//
//   Begin   steps.cc             the shape table chooses, and the ring gives a block
//   Stage   slots/step_block.h   the data go into the block
//   Run     step_launch.h        the block goes to the tree's function of the shape: one launch
//           recordings.h         notes what the tree has made of it
//
//   lanes.h          the trees that steps run in, and the memory that they share
//   programs.h       the programs by their ids
//   dependencies.h   what recordings point to, and which of them are stale when that changes
//   recordings.h     recordings made ahead or while serving, and those that wait for a commit
//   plan_maker.h     plans of what is to be recorded; plan_runner.h records them
//   idle_recorder.h  records between steps what these want most
//   parker.h         memory that leaves and comes back by tags
//   lender.h         idle memory of lanes, for the caller's own work
//   describe.h       steps and statistics, for people and programs
//   serving_steps.h  what the mode of serving makes of steps
//   watch/watch.h    what steps have noted, for readers on any thread
//
// Here is only what needs several of these at once.
//
// Threads: see runtime.h.
#ifndef GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_
#define GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "device/device.h"
#include "device/stream.h"
#include "graphs/tensor.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/idle_recorder.h"
#include "runtime/core/lane.h"
#include "runtime/core/lanes.h"
#include "runtime/core/lender.h"
#include "runtime/core/open_step.h"
#include "runtime/core/parker.h"
#include "runtime/core/plan_maker.h"
#include "runtime/core/plan_runner.h"
#include "runtime/core/programs.h"
#include "runtime/core/recordings.h"
#include "runtime/core/serving_steps.h"
#include "runtime/program.h"
#include "runtime/runtime_options.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/watch/watch.h"

namespace graphtree {

class RuntimeCore {
 public:
  // REQUIRES: at least one device, and none twice.
  RuntimeCore(std::vector<Device*> devices, const RuntimeOptions& options);
  ~RuntimeCore();
  RuntimeCore(const RuntimeCore&) = delete;
  RuntimeCore& operator=(const RuntimeCore&) = delete;

  // runtime_core.cc
  // A runtime that is closed now takes memory from under a step: ends the process, if one runs.
  void CheckNothingRuns() const;
  absl::StatusOr<ProgramId> AddProgram(ProgramOptions options);
  absl::Status AddShapes(ProgramId program, absl::Span<const Key> keys, Mode mode);
  absl::Status Exclude(ProgramId program, const Key& key, bool excluded);
  absl::Status RemoveProgram(ProgramId program);

  // steps.cc
  absl::StatusOr<OpenStep*> Begin(ProgramId program, const Key& key, Stream& stream,
                                  const StepOptions& options);
  // REQUIRES: the step is open.
  absl::Status Run(OpenStep& step, Values* outputs);

  const Lanes& lanes() const { return lanes_; }
  const Programs& programs() const { return programs_; }
  Dependencies& dependencies() { return dependencies_; }
  const Dependencies& dependencies() const { return dependencies_; }
  Recordings& recordings() { return recordings_; }
  const Recordings& recordings() const { return recordings_; }
  PlanMaker& plan_maker() { return plan_maker_; }
  PlanRunner& plan_runner() { return plan_runner_; }
  Lender& lender() { return lender_; }
  Parker& parker() { return parker_; }
  IdleRecorder& idle_recorder() { return idle_recorder_; }
  const IdleRecorder& idle_recorder() const { return idle_recorder_; }
  ServingSteps& serving() { return serving_; }
  const ServingSteps& serving() const { return serving_; }
  Watch& watch() { return watch_; }
  const Watch& watch() const { return watch_; }
  const RuntimeOptions& options() const { return options_; }

 private:
  // An error if a step is open in some lane, or Progress is under way: `what` cannot be done then.
  absl::Status CheckAtRest(absl::string_view what) const;
  // Adds the lane if there is none, which is `is_new`.
  absl::StatusOr<Lane*> LaneFor(Lanes::Place place, bool* is_new);
  // The step was run: counts it, with the reason why it ran as it did. `began_ns` is the watch's.
  void Note(OpenStep& step, const absl::Status& status, int64_t began_ns);

  Watch watch_;  // before the options, whose callbacks tell it
  const RuntimeOptions options_;  // with a clock, and log and tree.warn joined
  const uint32_t number_;  // of this runtime among those of the process
  Lanes lanes_;
  Programs programs_;  // go before the lanes
  Dependencies dependencies_;
  Recordings recordings_;
  PlanMaker plan_maker_;
  ServingSteps serving_;
  PlanRunner plan_runner_;
  IdleRecorder idle_recorder_;
  Parker parker_;
  Lender lender_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_RUNTIME_CORE_H_
