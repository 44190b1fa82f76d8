// Steps, and recording, in other modes of serving. What strict promises: a step is replayed, or it
// is an error and nothing has happened; and what has a good recording is not refused.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/progress.h"
#include "runtime/recording_plan.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr const char* kRefusal = "since the mode is strict and it would run eagerly";

bool IsRefusal(const absl::Status& said) {
  return said.code() == absl::StatusCode::kFailedPrecondition &&
         absl::StrContains(said.message(), kRefusal);
}

}  // namespace

absl::Status World::InMode(const Action& action) {
  constexpr ServingMode kModes[] = {{.serving = Serving::kOff},
                                    {.serving = Serving::kShadow},
                                    {.parity_every = 1},
                                    {.parity_every = 2},
                                    {.serving = Serving::kStrict},
                                    {.serving = Serving::kStrict, .parity_every = 2}};
  mode_ = kModes[action.pick / 8 % 6];
  absl::Status status = runtime_->SetServing(mode_);
  Program& program = programs_[action.steps[0].program];
  for (int i = 0; i < 2 && status.ok() && !done_; ++i) {
    const bool records = i == 1 && action.pick / 48 % 2 == 0 && program.model != nullptr;
    if (records) status = RecordInMode(program, action.pick);
    if (status.ok() && !done_) status = DoStep(action.steps[0]);
  }
  mode_ = {};
  status.Update(runtime_->SetServing({}));
  return status;
}

// By Record, by a plan, in idle slots: where no graph serves, all three leave everything as it is.
absl::Status World::RecordInMode(Program& program, uint32_t pick) {
  if (ServesGraphs(mode_.serving)) return RecordSomehow(program, pick / 96);
  const uint32_t stream = pick / 96 % kStreams;
  GRAPHTREE_RETURN_IF_ERROR(GoBehindSide(stream));
  const uint64_t before = runtime_->stats().recordings;
  program.body.ran.clear();
  const absl::Status said = Call([&]() -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(runtime_->Record(program.id, *streams_[stream]));
    const absl::StatusOr<ProgressReport> report =
        runtime_->Progress(*streams_[stream], {.ends_steps = true});
    GRAPHTREE_RETURN_IF_ERROR(report.status());
    if (report->runs > 0 || !report->is_done) return absl::InternalError("Progress ran something");
    const absl::StatusOr<RecordingPlan> plan = runtime_->Plan({}, 0);
    GRAPHTREE_RETURN_IF_ERROR(plan.status());
    if (plan->order.empty() && plan->recorded.empty()) return absl::OkStatus();
    const absl::StatusOr<PlanResult> result = runtime_->RecordPlan(*plan, *streams_[stream]);
    GRAPHTREE_RETURN_IF_ERROR(result.status());
    const size_t left_out = result->left_out.size();
    return result->recorded == 0 && left_out == plan->order.size()
               ? absl::OkStatus()
               : absl::InternalError(absl::StrCat("a plan says that ", result->recorded,
                                                  " were recorded and ", left_out, " left out"));
  });
  if (!said.ok() && !MayFail(said)) return said;
  Count("not recorded because of the mode");
  if (runtime_->stats().recordings == before && program.body.ran.empty()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("something was recorded in mode ", ServingName(mode_.serving)));
}

// Begin knows by the shape's life whether it is recorded, and Run asks the tree.
absl::StatusOr<bool> World::IsRefusedByStrict(const Open& open, bool has_shape,
                                              const absl::Status& said) {
  if (mode_.serving != Serving::kStrict) {
    if (!IsRefusal(said)) return false;
    return absl::InternalError(absl::StrCat("strict refuses in another mode: ", said.message()));
  }
  const bool is_refused = IsRefusal(said);
  if (!has_shape) {
    if (!is_refused && !faulted_) {
      return absl::InternalError(absl::StrCat("strict has begun a step that no graph serves: ",
                                              said.ToString()));
    }
  } else {
    const ShapeModel& shape = open.program->model->ShapeAt(open.choice.index);
    const bool is_sure = !script_.is_small && !faulted_ && !shape.is_unsure;
    if (is_sure && is_refused == shape.is_recorded) {
      return absl::InternalError(absl::StrCat("strict was ", is_refused ? "" : "not ",
                                              "asked too much by a shape that is ",
                                              shape.is_recorded ? "" : "not ", "recorded: ",
                                              said.ToString()));
    }
  }
  if (is_refused) Count("strict steps that did not begin");
  return is_refused;
}

absl::StatusOr<bool> World::CheckStrict(const Open& open, const absl::Status& said) {
  if (!open.has_shape) return false;  // a device call has failed, and Begin did not see it
  const std::vector<BodyWorld::Ran>& ran = open.program->body.ran;
  const ShapeModel& shape = open.program->model->ShapeAt(open.choice.index);
  const bool is_sure =
      !script_.is_small && !faulted_ && !shape.is_unsure && !open.spec->continues;
  const bool is_good = shape.is_recorded && shape.generations == open.generations;
  if (!IsRefusal(said)) {
    const bool may_end = script_.is_small || faulted_;  // an executable that found no room
    if (!said.ok() || IsReplay(open.why) || may_end) {
      if (said.ok()) Count("strict replays");
      return false;
    }
    return absl::InternalError(absl::StrCat("strict ran a step eagerly: ", open.words));
  }
  Count("strict steps that did not run");
  if (!ran.empty()) return absl::InternalError("strict refused a step, and its body ran");
  if (is_sure && is_good) {
    return absl::InternalError(absl::StrCat("strict refused what is recorded: ", open.words));
  }
  const bool is_stale = shape.is_recorded && shape.generations != open.generations;
  if (is_sure && is_stale && open.why != Why::kStaleDependency) {
    return absl::InternalError(absl::StrCat("strict hides what was touched: ", open.words));
  }
  return true;
}

}  // namespace graphtree::runtime_simulation
