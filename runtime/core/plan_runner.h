// Records what a plan says (runtime/recording_plan.h), looks at what the device gives meanwhile,
// and compares that with the estimate.
//
//   first shapes   as nobody knows what their program takes    looks after each run: code, then
//                                                              executables
//   the plan anew  with an estimate now
//   the rest       the largest first, as far as the budget goes; anew while that makes room
//   the stale      again, where a body has made a workspace grow
//   the truth      what is there in the end; against the estimate; then whoever waits is told what
//                  is left
//
// In modes that serve no graphs there is the truth alone.
//
// Threads: as Runtime::Record.
#ifndef GRAPHTREE_RUNTIME_CORE_PLAN_RUNNER_H_
#define GRAPHTREE_RUNTIME_CORE_PLAN_RUNNER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/stream.h"
#include "runtime/core/dependencies.h"
#include "runtime/core/lanes.h"
#include "runtime/core/plan_maker.h"
#include "runtime/core/program_state.h"
#include "runtime/core/programs.h"
#include "runtime/core/recordings.h"
#include "runtime/core/serving_steps.h"
#include "runtime/core/taken_bytes.h"
#include "runtime/recording_plan.h"
#include "runtime/runtime_options.h"

namespace graphtree {

class PlanRunner {
 public:
  // All of them outlive it.
  PlanRunner(Lanes& lanes, const Programs& programs, const Dependencies& dependencies,
             Recordings& recordings, PlanMaker& maker, ServingSteps& serving,
             const RuntimeOptions& options)
      : lanes_(lanes),
        programs_(programs),
        dependencies_(dependencies),
        recordings_(recordings),
        maker_(maker),
        serving_(serving),
        options_(options) {}
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  absl::StatusOr<PlanResult> Run(const RecordingPlan& plan, Stream& stream,
                                 const AfterPlan& after);
  // Of the last plan that was recorded.
  const std::optional<PlanResult>& last() const { return last_; }

 private:
  // One plan under way.
  struct Work {
    Stream& stream;
    TakenBytes taken;
    uint64_t budget;
    std::vector<ShapeToRecord> shapes;  // all of the plan's but those that cannot be recorded
    std::vector<ShapeToRecord> already = {};   // recorded before
    std::vector<ShapeToRecord> recorded = {};  // by this plan
    std::vector<OmittedShape> no_room = {};
    PlanResult result = {};
  };

  absl::Status Check(const std::vector<ShapeToRecord>& shapes, Stream& stream) const;
  static size_t FirstOf(size_t shapes);
  std::vector<ShapeToRecord> FirstShapes(const RecordingPlan& plan) const;
  absl::Status RecordFirst(const RecordingPlan& plan, Work* work);
  absl::Status RecordRest(Work* work);
  void RecordAsPlanned(const RecordingPlan& plan, Work* work);
  // Those that are stale still, as each pass has made others stale: left out, and an error says so.
  absl::Status RecordStale(Work* work);
  absl::StatusOr<std::vector<ShapeToRecord>> Stale(const Work& work) const;
  absl::Status RecordAll(const RecordingPlan& plan, uint32_t device, Work* work);
  // Once, for the first reason.
  static void LeaveOut(OmittedShape omitted, Work* work);
  void LeaveAllOut(const RecordingPlan& plan, Work* work) const;
  // What was recorded and made room for others since is left out, too.
  absl::Status LeaveOutEvicted(Work* work) const;
  bool Fits(const PlannedShape& planned, Work* work) const;
  // An error is one of the shape's, which is left out then.
  absl::Status RecordOne(const ShapeToRecord& shape, bool looks, Work* work);
  void NoteRun(ProgramState& program, const ShapeToRecord& shape, CallRoute route, Work* work);
  // What the device has given to graphs before, by its own figures and what was seen of code.
  uint64_t HeldBefore(const TakenBytes& taken, uint32_t device) const;
  void Measure(uint64_t held_before, const std::optional<TakenBytes::Since>& since, Work* work);

  Lanes& lanes_;
  const Programs& programs_;
  const Dependencies& dependencies_;
  Recordings& recordings_;
  PlanMaker& maker_;
  ServingSteps& serving_;
  const RuntimeOptions& options_;
  std::optional<PlanResult> last_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_PLAN_RUNNER_H_
