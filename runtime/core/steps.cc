// Begins steps, runs them, and counts how they ran.
#include "runtime/core/runtime_core.h"

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/core/in_step.h"
#include "runtime/core/program_state.h"
#include "runtime/core/step_launch.h"
#include "runtime/shapes/launch_history.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/slots/planted_bug.h"
#include "runtime/why.h"

namespace graphtree {

absl::StatusOr<OpenStep*> RuntimeCore::Begin(ProgramId id, const Key& key, Stream& stream,
                                             const StepOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(*program, stream));
  GRAPHTREE_RETURN_IF_ERROR(CheckCall(key));
  Lane& lane = program->lane();
  if (!lane.Take(program)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a step of '", program->name(), "' was begun while one is under way in lane ", lane.number,
        "; run or cancel that one first, or wait for its body, or for the thread that has it"));
  }
  Choice choice = program->table().Choose(key, options.modes);
  if (options.is_voted_down) choice = {.why = Why::kVotedDown, .key = key};
  absl::StatusOr<OpenStep*> step = OpenOn(*program, choice, key, stream);
  if (!step.ok()) {
    lane.GiveBack();
    return step;
  }
  (*step)->is_open = true;
  (*step)->continues = options.continues;
  return step;
}

absl::Status RuntimeCore::Run(OpenStep& step, Values* outputs) {
  step.is_open = false;  // also for a body that has the handle
  absl::Status status = CheckRunnable(step, outputs);
  const bool is_launched = status.ok();
  if (is_launched) {
    status = LaunchStep(step, outputs);
    Note(step, status);
  } else {
    step.choice.why = Why::kFailed;
    if (IsPlanted(RuntimeBug::kCountsRefused)) ++step.program->lane().counts.steps;
  }
  CloseStep(step, is_launched);
  return status.ok() ? status : InStep(step, "running", status);
}

void RuntimeCore::Note(OpenStep& step, const absl::Status& status) {
  Lane& lane = step.program->lane();
  ++lane.counts.steps;
  const bool has_shape = IsReplay(step.choice.why);
  if (status.ok()) {
    // Ranks run the same collectives in a graph and eagerly, recorded yet or not.
    // What runs eagerly is as large as each rank's own call.
    const uint32_t shape = has_shape ? step.choice.index : kNoShape;
    const Key key = has_shape ? step.choice.key : Key();
    lane.history.Record({step.program->fingerprint(), lane.done++, shape, key});
  }
  step.shape->wanted += step.choice.better == kNoShape;
  Recordings::NoteWithout(step);
  if (!status.ok()) {
    step.choice.why = Why::kFailed;
  } else if (has_shape) {
    recordings_.NoteRoute(step);
  }
  if (!IsReplay(step.choice.why)) {
    lanes_.ShareMemory(lane);
    lanes_.AskOthers(lane);
  }
  ++lane.counts.why[static_cast<size_t>(step.choice.why)];
}

}  // namespace graphtree
