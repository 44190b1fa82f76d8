// Begins steps, runs them, and notes how they ran.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/core/in_step.h"
#include "runtime/core/runtime_core.h"
#include "runtime/core/step_launch.h"
#include "runtime/core/why_route.h"
#include "runtime/slots/planted_bug.h"

namespace graphtree {

absl::StatusOr<OpenStep*> RuntimeCore::Begin(ProgramId id, const Key& key, Stream& stream,
                                             const StepOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(id));
  GRAPHTREE_RETURN_IF_ERROR(CheckDevice(*program, stream));
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
    NoteRoute(step, status);
  } else {
    step.choice.why = Why::kFailed;
    if (IsPlanted(RuntimeBug::kCountsRefused)) ++step.program->lane().counts.steps;
  }
  CloseStep(step, is_launched);
  return status.ok() ? status : InStep(step, "running", status);
}

void RuntimeCore::NoteRoute(OpenStep& step, const absl::Status& status) {
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
  if (!status.ok()) {
    step.choice.why = Why::kFailed;
  } else if (has_shape) {
    const LastCall last = lane.tree->last_call();
    if (last.route != CallRoute::kReplayed) {
      NoteMiss(step, last);
    } else if (!step.continues) {
      step.shape->life.Hit();
    }
  }
  if (!IsReplay(step.choice.why)) lanes_.ShareMemory(lane);
  ++lane.counts.why[static_cast<size_t>(step.choice.why)];
}

void RuntimeCore::NoteMiss(OpenStep& step, const LastCall& last) {
  step.touched = TouchedSince(step);
  const bool is_gone = step.shape->life.Missed(last, /*is_first=*/!step.continues);
  step.choice.why = WhyOfRoute(step.choice.why, last,
                               !step.touched.empty() ? Before::kStale
                               : is_gone             ? Before::kEvicted
                                                     : Before::kNothing);
  if (last.route == CallRoute::kRecorded) NoteRecorded(step);
  if (last.route == CallRoute::kRanEagerly && last.reason == Reason::kRecordedApart) {
    RecordWhileServing(step);
  }
}

std::vector<uint32_t> RuntimeCore::TouchedSince(const OpenStep& step) const {
  std::vector<uint32_t> touched;
  const std::vector<uint32_t> deps = step.program->dependencies();
  const std::vector<uint64_t>& before = step.shape->life.generations();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] != dependencies_.generation(deps[i])) touched.push_back(deps[i]);
  }
  return touched;
}

void RuntimeCore::NoteRecorded(OpenStep& step) {
  ++step.program->lane().counts.recordings;
  const uint64_t epoch = step.program->options().needs_commit ? epoch_ : 0;
  step.program->SetRecorded(step.choice.index, /*is_first=*/!step.continues,
                            dependencies_.GenerationsOf(step.program->dependencies()), epoch);
}

}  // namespace graphtree
