// Begins steps, runs them, and counts how they ran.
#include "runtime/core/runtime_core.h"

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/observer.h"
#include "graphs/tree_stats.h"
#include "runtime/core/in_step.h"
#include "runtime/core/lender.h"
#include "runtime/core/program_state.h"
#include "runtime/core/step_launch.h"
#include "runtime/shapes/launch_history.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/slots/planted_bug.h"
#include "runtime/watch/lane_watch.h"
#include "runtime/watch/step_log.h"
#include "runtime/why.h"

namespace graphtree {
namespace {

// A step whose shape has no recording takes so long that it is timed each time.
bool ExpectsReplay(const OpenStep& step) {
  return IsReplay(step.choice.why) && step.shape->life.is_recorded();
}

// A replay takes none, but for one that is compared, which runs its body, too, and for outputs that
// are kept, which have memory of their own in every run. What an eager part takes nobody has been
// told, unless it has found none. And a recording may have gone for others' memory.
bool MayTakeMemory(const OpenStep& step) {
  return !ExpectsReplay(step) || step.is_compared || step.shape->has_found_none ||
         step.shape->given_up != step.program->lane().given_up ||
         !step.program->options().kept_outputs.empty();
}

// A step that no shape served, and that none would, has none.
uint32_t ShapeIdOf(const OpenStep& step, bool has_shape) {
  if (has_shape) return step.shape->watch->id;
  return static_cast<uint32_t>(step.program->IdOf(step.choice.better));
}

// A step that is to have a graph, and has none yet, warms up or records.
LaneDoing DoingOf(const OpenStep& step) {
  const bool has_shape = IsReplay(step.choice.why);
  const bool records = has_shape && !step.shape->life.is_recorded();
  return {records ? LaneDoing::Kind::kRecording : LaneDoing::Kind::kStep, step.program->number(),
          ShapeIdOf(step, has_shape)};
}

}  // namespace

absl::StatusOr<OpenStep*> RuntimeCore::Begin(ProgramId id, const Key& key, Stream& stream,
                                             const StepOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(*program, stream));
  GRAPHTREE_RETURN_IF_ERROR(CheckCall(key));
  Lane& lane = program->lane();
  if (!lane.Take(program)) {
    if (lane.is_parking.load()) {
      return absl::FailedPreconditionError(
          absl::StrCat("a step of '", program->name(), "' was begun while another thread parks or "
                       "wakes lane ", lane.number, "; wait for it"));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "a step of '", program->name(), "' was begun while one is under way in lane ", lane.number,
        "; run or cancel that one first, or wait for its body, or for the thread that has it"));
  }
  if (absl::Status awake = program->CheckAwake();
      !awake.ok() && !IsPlanted(RuntimeBug::kStepsWhileParked)) {
    ++lane.counts.parked_refused;
    lane.GiveBack();
    return awake;
  }
  if (!lane.loans.empty()) Lender::EndForStep(lane);
  Choice choice = serving_.Choose(*program, key, options.modes);
  const bool may_have_graph = choice.why != Why::kOff && choice.why != Why::kShadow;
  if (options.is_voted_down && may_have_graph) choice = {.why = Why::kVotedDown, .key = key};
  const absl::Status strict = serving_.CheckStrict(*program, key, choice);
  absl::StatusOr<OpenStep*> step =
      strict.ok() ? OpenOn(*program, choice, key, stream) : absl::StatusOr<OpenStep*>(strict);
  if (!step.ok()) {
    lane.GiveBack();
    return step;
  }
  (*step)->is_open = true;
  (*step)->continues = options.continues;
  serving_.Mark(**step);
  return step;
}

absl::Status RuntimeCore::Run(OpenStep& step, Values* outputs) {
  step.is_open = false;  // also for a body that has the handle
  LaneWatch& watch = *step.program->lane().watch;
  ToldPhase told(step.program->lane().tree->observers(), Phase::kStep, step.program->name());
  absl::Status status = CheckRunnable(step, outputs);
  int64_t began_ns = LaneWatch::kNotTimed;
  if (status.ok()) {
    began_ns = watch.BeginTiming(ExpectsReplay(step));
    status = watch.TakeClockFailure();
  }
  bool is_launched = status.ok();
  if (is_launched) {
    const LaneWatch::Doing doing(watch, DoingOf(step));
    if (MayTakeMemory(step)) lanes_.MakeRoomFor(step, /*takes_recordings=*/true);
    status = LaunchStep(step, outputs);
    if (step.is_refused) {
      status = serving_.RefuseInRun(step);
      is_launched = false;
    } else {
      Note(step, status, began_ns);
    }
  } else {
    step.choice.why = Why::kFailed;
    if (IsPlanted(RuntimeBug::kCountsRefused)) ++step.program->lane().counts.steps;
  }
  status = lanes_.Explained(step.program->lane(), status);
  CloseStep(step, is_launched);
  if (const absl::Status failure = watch.TakeClockFailure(); !failure.ok() && status.ok()) {
    status = absl::Status(
        failure.code(),
        absl::StrCat("it has run, and its outputs are there, but ", failure.message()));
  }
  return told.Ended(status.ok() ? status : InStep(step, "running", status));
}

void RuntimeCore::Note(OpenStep& step, const absl::Status& status, int64_t began_ns) {
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
  if (serving_.serves_graphs()) Recordings::NoteWithout(step);
  LastCall last = {.route = CallRoute::kRanEagerly};
  if (!status.ok()) {
    step.choice.why = Why::kFailed;
    last.route = CallRoute::kNone;
  } else if (has_shape) {
    last = recordings_.NoteRoute(step);
  }
  if (IsReplay(step.choice.why)) {
    step.shape->given_up = lane.given_up;
  } else {
    lanes_.NoteGivenUp(lane);
    const bool has_no_recording = step.choice.why == Why::kNoMemory;
    lanes_.NoteAsked(step, absl::IsResourceExhausted(status) || has_no_recording);
    if (has_shape && has_no_recording) lanes_.NoteRecordingLacked(lane, step.shape);
    lanes_.AskOthers(lane);
  }
  const int32_t padded = has_shape ? step.choice.key.tokens - step.key.tokens : 0;
  lane.counts.staged_bytes.Add(step.shape->plan.block_bytes);
  step.program->TellWatch();
  LoggedStep logged = {.key = step.key,
                       .why = step.choice.why,
                       .field = step.choice.field,
                       .route = last.route,
                       .reason = last.reason,
                       .program = step.program->number(),
                       .shape = ShapeIdOf(step, has_shape)};
  lane.watch->Note(logged, began_ns, static_cast<uint64_t>(padded), *step.shape->watch);
  serving_.Note(step, logged.ran_ns);
}

}  // namespace graphtree
