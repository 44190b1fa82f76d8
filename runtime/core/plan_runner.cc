// Shape by shape, with a look at the device where that tells something.
#include "runtime/core/plan_runner.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "device/observer.h"
#include "graphs/tree_stats.h"
#include "runtime/core/lane.h"
#include "runtime/core/ledger_rows.h"
#include "runtime/core/step_launch.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/watch/clock.h"

namespace graphtree {

absl::Status PlanRunner::Check(const std::vector<ShapeToRecord>& shapes, Stream& stream) const {
  GRAPHTREE_RETURN_IF_ERROR(lanes_.CheckNoStep("a plan was recorded"));
  for (const ShapeToRecord& shape : shapes) {
    GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(shape.program));
    GRAPHTREE_RETURN_IF_ERROR(CheckStream(*program, stream));
  }
  return CheckNoCapture(stream, "a plan was recorded");
}

void PlanRunner::LeaveOut(OmittedShape omitted, Work* work) {
  std::vector<OmittedShape>& left_out = work->result.left_out;
  const bool is_there = absl::c_any_of(
      left_out, [&](const OmittedShape& one) { return one.shape == omitted.shape; });
  if (!is_there) left_out.push_back(std::move(omitted));
}

// How many of so many shapes are recorded before the rest is estimated: three show what a shape
// takes, and it takes a few megabytes of executables to see what the driver takes for them.
size_t PlanRunner::FirstOf(size_t shapes) {
  constexpr size_t kLeast = 3, kMost = 12;
  return std::min(shapes, std::clamp(shapes / 4, kLeast, kMost));
}

// Of each program and mode of which nothing is known: the largest, the smallest, and some between.
// Where nobody knows whether the largest fits: of the smaller half, from the smallest up, so that
// one sees how workspaces grow.
std::vector<ShapeToRecord> PlanRunner::FirstShapes(const RecordingPlan& plan) const {
  std::map<std::pair<uint32_t, Mode>, std::vector<ShapeToRecord>> unknown;
  for (const PlannedShape& planned : plan.order) {
    if (planned.takes.pool.is_known()) continue;
    unknown[{planned.shape.program.index, planned.shape.mode}].push_back(planned.shape);
  }
  std::vector<ShapeToRecord> first;
  for (const auto& [which, shapes] : unknown) {
    const size_t last = shapes.size() - 1;
    const size_t begin = plan.budget > 0 ? (last + 1) / 2 : 0;
    const auto old_end = static_cast<std::ptrdiff_t>(first.size());
    const size_t count = FirstOf(shapes.size());
    std::set<size_t> places = {begin, last};
    for (size_t i = 1; i + 1 < count; ++i) {
      places.insert(begin + i * (last - begin) / (count - 1));
    }
    for (const size_t place : places) first.push_back(shapes[place]);
    if (begin > 0) std::reverse(first.begin() + old_end, first.end());
  }
  return first;
}

void PlanRunner::NoteRun(ProgramState& program, const ShapeToRecord& shape, CallRoute route,
                         Work* work) {
  const std::optional<TakenBytes::Since> since = work->taken.Look();
  if (route == CallRoute::kRecorded) {
    maker_.workspaces(shape.program)
        .Add(shape.key.tokens, static_cast<double>(dependencies_.WorkspaceBytes(program)));
  }
  if (!since.has_value()) return;
  if (route == CallRoute::kWarmedUp) {
    maker_.code(shape.program).LearnCode(since->beside_pools);
    program.NoteCode(since->beside_pools);
  }
  if (route == CallRoute::kRecorded && since->executables > 0) {
    maker_.driver(program.lane().device_number)
        .LearnExecutables(since->executables, since->beside_pools);
  }
}

absl::Status PlanRunner::RecordOne(const ShapeToRecord& shape, bool looks, Work* work) {
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(shape.program));
  const uint32_t index = program->FindShape(shape.key, shape.mode);
  if (index == kNoShape) return absl::NotFoundError("it is not there any more");
  if (program->shape(index).life.is_excluded()) {
    LeaveOut({shape, LeftOut::kExcluded, "it was excluded after the plan was made"}, work);
    return absl::OkStatus();
  }
  Lane& lane = program->lane();
  if (!lane.Take(program)) {
    return absl::FailedPreconditionError(
        absl::StrCat("another thread has lane ", lane.number, "; one at a time uses a lane"));
  }
  // What a plan has recorded makes no room for the rest of it.
  Recordings::How how = {.takes_recordings = false};
  if (looks) {
    work->taken.Look().reset();
    how.after_run = [&](CallRoute route) { NoteRun(*program, shape, route, work); };
  }
  absl::Status status = program->CheckAwake();
  if (status.ok()) {
    status = recordings_.RecordShape(*program, index, work->stream, how);
  }
  lanes_.NoteGivenUp(lane);
  lanes_.AskOthers(lane);
  lane.GiveBack();
  if (status.ok()) {
    if (!absl::c_linear_search(work->recorded, shape)) work->recorded.push_back(shape);
  } else {
    work->result.first_failure.Update(status);
    LeaveOut({shape, LeftOut::kFailed, std::string(status.message())}, work);
  }
  return status;
}

absl::Status PlanRunner::RecordFirst(const RecordingPlan& plan, Work* work) {
  for (const ShapeToRecord& shape : FirstShapes(plan)) {
    // One that fails is left out, and another one shows what its program takes.
    RecordOne(shape, /*looks=*/true, work).IgnoreError();
    if (absl::Status health = work->stream.device().health(); !health.ok()) return health;
  }
  return absl::OkStatus();
}

bool PlanRunner::Fits(const PlannedShape& planned, Work* work) const {
  if (work->budget == 0 || !planned.takes.pool.is_known()) return true;
  const TakenBytes::Held held = work->taken.HeldNow();
  const absl::StatusOr<ProgramState*> program = programs_.Find(planned.shape.program);
  if (!program.ok()) return true;  // which RecordOne says
  const Lane& lane = (*program)->lane();
  DriverModel& driver = maker_.driver(lane.device_number);
  const PoolBytes now = PoolBytesOf(*lane.tree);
  const uint64_t mapped = now.mapped - now.lasting;
  const uint64_t pool = planned.takes.pool.most();
  uint64_t bytes = held.pools + (pool > mapped ? pool - mapped : 0);
  bytes += driver
               .Executables(planned.takes.executables +
                            Guess::Exactly(static_cast<double>(held.executables)))
               .most();
  if (bytes <= work->budget) return true;
  work->no_room.push_back(
      {planned.shape, LeftOut::kBudget,
       absl::StrCat("with it graphs would take ", bytes, " bytes of a budget of ", work->budget)});
  return false;
}

void PlanRunner::RecordAsPlanned(const RecordingPlan& plan, Work* work) {
  std::set<std::pair<uint32_t, Mode>> unknown;  // of which nothing is known yet
  for (const PlannedShape& planned : plan.order) {
    const ShapeToRecord& shape = planned.shape;
    const bool has_failed = absl::c_any_of(
        work->result.left_out, [&](const OmittedShape& one) { return one.shape == shape; });
    if (has_failed || !Fits(planned, work)) continue;
    const bool looks = !planned.takes.pool.is_known() &&
                       unknown.insert({shape.program.index, shape.mode}).second;
    RecordOne(shape, looks, work).IgnoreError();
  }
}

// Each recording makes the estimate of the others better, so what did not fit may do so now.
absl::Status PlanRunner::RecordRest(Work* work) {
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds; ++round) {
    GRAPHTREE_ASSIGN_OR_RETURN(const RecordingPlan plan,
                               maker_.Make(work->shapes, work->budget));
    if (round == 0) work->result.estimate = plan.estimate;
    work->no_room = plan.left_out;
    const size_t before = work->recorded.size();
    RecordAsPlanned(plan, work);
    if (work->no_room.empty() || work->recorded.size() == before) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ShapeToRecord>> PlanRunner::Stale(const Work& work) const {
  std::vector<ShapeToRecord> stale;
  for (const std::vector<ShapeToRecord>* shapes : {&work.recorded, &work.already}) {
    for (const ShapeToRecord& shape : *shapes) {
      GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(shape.program));
      const uint32_t index = program->FindShape(shape.key, shape.mode);
      if (index == kNoShape) continue;
      const ShapeState& state = program->shape(index);
      if (state.life.is_excluded() || !state.life.is_recorded_first()) continue;
      if (!dependencies_.TouchedSince(*program, state).empty()) stale.push_back(shape);
    }
  }
  return stale;
}

// A body that made a workspace grow has made earlier recordings stale.
absl::Status PlanRunner::RecordStale(Work* work) {
  constexpr int kMostPasses = 3;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<ShapeToRecord> stale, Stale(*work));
    if (stale.empty()) return absl::OkStatus();
    for (const ShapeToRecord& shape : stale) RecordOne(shape, /*looks=*/false, work).IgnoreError();
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const std::vector<ShapeToRecord> stale, Stale(*work));
  if (stale.empty()) return absl::OkStatus();
  const std::string words = absl::StrCat(
      "it was recorded ", kMostPasses, " times more, and each time a body moved or touched a "
      "dependency that it has; it is made again by a step");
  for (const ShapeToRecord& shape : stale) {
    LeaveOut({shape, LeftOut::kStale, words}, work);
  }
  work->result.first_failure.Update(absl::FailedPreconditionError(absl::StrCat(
      "of a plan ", stale.size(), " recordings are stale: each was recorded ", kMostPasses,
      " times more, and each time a body moved or touched a dependency that others of them have; "
      "they are made again by steps")));
  return absl::OkStatus();
}

absl::Status PlanRunner::LeaveOutEvicted(Work* work) const {
  // One that was evicted may have found no room since.
  const auto is_left_out = [work](const ShapeToRecord& shape) {
    const auto is_it = [&](const OmittedShape& one) { return one.shape == shape; };
    return absl::c_any_of(work->result.left_out, is_it) || absl::c_any_of(work->no_room, is_it);
  };
  std::vector<ShapeToRecord> there;
  for (const std::vector<ShapeToRecord>* shapes : {&work->recorded, &work->already}) {
    for (const ShapeToRecord& shape : *shapes) {
      if (is_left_out(shape)) continue;
      GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const program, programs_.Find(shape.program));
      const uint32_t index = program->FindShape(shape.key, shape.mode);
      if (index == kNoShape) continue;
      if (!program->lane().tree->RecordingsOf(program->shape(index).function).empty()) {
        if (shapes == &work->recorded) there.push_back(shape);
        continue;
      }
      LeaveOut({shape, LeftOut::kEvicted,
                absl::StrCat("its recording has made room for others: the tree of its lane holds ",
                             program->lane().tree->stats().nodes, " of at most ",
                             options_.tree.budget.nodes, " recordings (TreeBudget)")},
               work);
    }
  }
  work->recorded.swap(there);
  return absl::OkStatus();
}

void PlanRunner::LeaveAllOut(const RecordingPlan& plan, Work* work) const {
  work->result.estimate = plan.estimate;
  for (const PlannedShape& planned : plan.order) {
    LeaveOut({planned.shape, LeftOut::kMode, serving_.WhyNotRecorded()}, work);
  }
}

uint64_t PlanRunner::HeldBefore(const TakenBytes& taken, uint32_t device) const {
  const TakenBytes::Held held = taken.HeldNow();
  uint64_t bytes = held.pools + held.executables;
  programs_.ForEach([&](ProgramId, const ProgramState& program) {
    bytes += program.lane().device_number == device ? program.code_bytes() : 0;
  });
  return bytes;
}

void PlanRunner::Measure(uint64_t held_before, const std::optional<TakenBytes::Since>& since,
                         Work* work) {
  PlanResult& result = work->result;
  const TakenBytes::Held held = work->taken.HeldNow();
  result.recorded = work->recorded.size();
  result.pool_bytes = held.pools;
  result.executable_bytes = held.executables;
  result.is_measured = since.has_value();
  result.device_bytes =
      since.has_value() ? held_before + since->graphs : held.pools + held.executables;
  const double estimated = result.estimate.device().bytes;
  const auto truth = static_cast<double>(result.device_bytes);
  result.error = truth > 0 ? std::abs(estimated - truth) / truth : 0;
  if (work->budget > 0) {
    result.bytes_left = std::max(work->budget, result.device_bytes) - result.device_bytes;
  } else {
    result.bytes_left = work->taken.FreeNow().value_or(0);
  }
}

absl::Status PlanRunner::RecordAll(const RecordingPlan& plan, uint32_t device, Work* work) {
  GRAPHTREE_RETURN_IF_ERROR(RecordFirst(plan, work));
  work->taken.Look().reset();
  GRAPHTREE_RETURN_IF_ERROR(RecordRest(work));
  if (const auto since = work->taken.Look(); since.has_value() && since->executables > 0) {
    maker_.driver(device).LearnExecutables(since->executables, since->beside_pools);
  }
  GRAPHTREE_RETURN_IF_ERROR(RecordStale(work));
  GRAPHTREE_RETURN_IF_ERROR(LeaveOutEvicted(work));
  for (OmittedShape& omitted : work->no_room) {
    LeaveOut(std::move(omitted), work);
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanResult> PlanRunner::Run(const RecordingPlan& plan, Stream& stream,
                                           const AfterPlan& after) {
  std::vector<ShapeToRecord> shapes = plan.recorded;
  for (const PlannedShape& planned : plan.order) shapes.push_back(planned.shape);
  // Of what was left out for lack of room the first recordings may show that it fits.
  for (const OmittedShape& omitted : plan.left_out) {
    const bool may_fit = omitted.why == LeftOut::kBudget || omitted.why == LeftOut::kNodes;
    if (may_fit) shapes.push_back(omitted.shape);
  }
  GRAPHTREE_RETURN_IF_ERROR(Check(shapes, stream));
  if (shapes.empty()) return absl::InvalidArgumentError("a plan without shapes was recorded");
  GRAPHTREE_ASSIGN_OR_RETURN(ProgramState* const any, programs_.Find(shapes[0].program));
  const uint32_t device = any->lane().device_number;
  GRAPHTREE_ASSIGN_OR_RETURN(const int64_t begin, LookAt(options_.clock_ns));
  Work work = {.stream = stream,
               .taken = TakenBytes(lanes_, dependencies_, stream.device(), device),
               .budget = plan.budget,
               .shapes = std::move(shapes),
               .already = plan.recorded};
  const uint64_t held_before = HeldBefore(work.taken, device);
  TakenBytes all = work.taken;
  all.Look().reset();
  if (serving_.MayRecord("a plan")) {
    ToldPhase told(any->lane().tree->observers(), Phase::kPlan, any->name());
    GRAPHTREE_RETURN_IF_ERROR(told.Ended(RecordAll(plan, device, &work)));
  } else {
    LeaveAllOut(plan, &work);
  }
  Measure(held_before, all.Look(), &work);
  const absl::StatusOr<int64_t> end = LookAt(options_.clock_ns);
  if (end.ok()) work.result.nanoseconds = *end - begin;
  // Its own, as `after` may record another plan.
  PlanResult result = std::move(work.result);
  last_ = result;
  if (after) GRAPHTREE_RETURN_IF_ERROR(GuardedBy("`after` of RecordPlan", [&] { after(result); }));
  GRAPHTREE_RETURN_IF_ERROR(end.status());
  return result;
}

}  // namespace graphtree
