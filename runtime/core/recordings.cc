// Runs shapes until their trees have recorded them.
#include "runtime/core/recordings.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "runtime/core/in_step.h"
#include "runtime/core/lender.h"
#include "runtime/core/shape_life.h"
#include "runtime/core/step_launch.h"
#include "runtime/core/why_route.h"
#include "runtime/slots/planted_bug.h"
#include "runtime/watch/lane_watch.h"

namespace graphtree {

absl::Status Recordings::MayRecord(ProgramState& program, Stream& stream) const {
  GRAPHTREE_RETURN_IF_ERROR(
      lanes_.CheckNoStep(absl::StrCat("'", program.name(), "' was recorded")));
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(program, stream));
  return CheckNoCapture(stream, absl::StrCat("'", program.name(), "' was recorded"));
}

absl::Status Recordings::Record(ProgramState& program, Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(MayRecord(program, stream));
  Lane& lane = program.lane();
  if (!lane.Take(&program)) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", program.name(), "' was recorded while another thread has lane ",
                     lane.number, "; one thread at a time uses a lane"));
  }
  absl::Status recorded = program.CheckAwake();
  if (recorded.ok()) recorded = RecordAll(program, stream);
  lanes_.NoteGivenUp(lane);
  lane.GiveBack();
  return recorded;
}

// Again, if a workspace has moved: shapes that were recorded before are stale then.
absl::Status Recordings::RecordAll(ProgramState& program, Stream& stream) {
  constexpr int kMostPasses = 3;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const std::vector<uint64_t> now = dependencies_.GenerationsOf(program);
    absl::Status first;
    for (uint32_t i = static_cast<uint32_t>(program.table().size()); i-- > 0;) {
      if (program.shape(i).life.is_excluded() || IsGoodWith(now, program, i)) continue;
      first.Update(RecordShape(program, i, stream, {}));
      lanes_.AskOthers(program.lane());  // so that the next shape finds room
    }
    if (dependencies_.GenerationsOf(program) == now) return first;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("'", program.name(), "' was recorded ", kMostPasses,
                   " times, and each time its bodies moved or touched a dependency that others of "
                   "its recordings have; the recordings that are stale are made again by steps"));
}

bool Recordings::IsGood(ProgramState& program, uint32_t index) const {
  return IsGoodWith(dependencies_.GenerationsOf(program), program, index);
}

bool Recordings::IsGoodWith(const ShapeLife::Generations& now, ProgramState& program,
                            uint32_t index) {
  const ShapeState& shape = program.shape(index);
  const bool is_current = shape.life.generations() == now || IsPlanted(RuntimeBug::kSkipsStale);
  return is_current && shape.life.is_recorded_first() &&
         !program.lane().tree->RecordingsOf(shape.function).empty();
}

absl::Status Recordings::RecordShape(ProgramState& program, uint32_t index, Stream& stream,
                                     const How& how) {
  // What is recorded is not run: its graph may have to wait for a commit.
  if (IsGood(program, index)) return absl::OkStatus();
  Why why = Why::kFailed;
  ShapeState& shape = program.shape(index);
  // Steps that failed to record it do not count for who asks for just that.
  program.lane().tree->EndPause(shape.function);
  absl::Status status = TryShape(program, index, stream, how, &why);
  if (!status.ok() && lanes_.AskOthers(program.lane())) {
    program.lane().tree->EndPause(shape.function);
    status = TryShape(program, index, stream, how, &why);
  }
  if (absl::IsResourceExhausted(status)) {
    why = Why::kNoMemory;
    lanes_.NoteRecordingLacked(program.lane(), &shape);
  }
  if (!status.ok()) program.SetFailed(index, why);
  return status;
}

absl::Status Recordings::TryShape(ProgramState& program, uint32_t index, Stream& stream,
                                  const How& how, Why* why) {
  // A body may ask for more warm-ups than one; the tree bounds them.
  const uint64_t most_runs = 2 + options_.tree.warm_up_limit;
  for (uint64_t number = 0; number < most_runs; ++number) {
    Try run = {.is_last = number + 1 == most_runs, .takes_recordings = how.takes_recordings};
    const absl::StatusOr<bool> is_recorded = RunOnce(program, index, stream, &run);
    *why = run.why;
    GRAPHTREE_RETURN_IF_ERROR(is_recorded.status());
    if (how.after_run != nullptr) how.after_run(program.lane().tree->last_call().route);
    if (*is_recorded) break;
  }
  const ShapeState& shape = program.shape(index);
  if (shape.life.is_recorded()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", program.name(), "' (", ToString(shape.key), ") was run ", most_runs,
                   " times to be recorded, and its body asked for another warm-up each time"));
}

absl::StatusOr<bool> Recordings::RunOnce(ProgramState& program, uint32_t index, Stream& stream,
                                         Try* run) {
  const Choice choice = {
      .why = Why::kHit, .index = index, .key = program.table().shape(index).key};
  Lender::EndForStep(program.lane());
  GRAPHTREE_ASSIGN_OR_RETURN(OpenStep* const step, OpenOn(program, choice, choice.key, stream));
  const LaneWatch::Doing doing(
      *program.lane().watch,
      {LaneDoing::Kind::kRecording, program.number(), step->shape->watch->id});
  step->block.StagePadding();
  const absl::Status status = lanes_.Explained(program.lane(), RunToRecord(*step, run));
  lanes_.NoteAsked(*step, absl::IsResourceExhausted(status));
  const LastCall last = program.lane().tree->last_call();
  // A workspace that grew in the recording has done so now.
  const bool has_moved = last.reason == Reason::kWorkspaceMoved && absl::IsInternal(status);
  if (has_moved && !run->is_last) return false;
  if (!status.ok()) return InStep(*step, "recording", status);
  return last.route == CallRoute::kRecorded || last.route == CallRoute::kReplayed;
}

absl::StatusOr<bool> Recordings::Advance(ProgramState& program, uint32_t index, Stream& stream) {
  Try run;
  absl::StatusOr<bool> recorded = RunOnce(program, index, stream, &run);
  if (!recorded.ok()) NoteFailedServing(program, index, run.why, recorded.status());
  return recorded;
}

absl::Status Recordings::RunToRecord(OpenStep& step, Try* run) {
  if (step.memory != nullptr) GRAPHTREE_RETURN_IF_ERROR(step.block.Finish());
  Values outputs;
  const bool has_lacked = step.shape->recording_lacks_bytes > 0;
  lanes_.MakeRoomFor(step, run->takes_recordings && has_lacked);
  GRAPHTREE_RETURN_IF_ERROR(LaunchStep(step, &outputs));
  const LastCall last = step.program->lane().tree->last_call();
  const bool is_apart = step.program->options().needs_commit;
  if (last.route == CallRoute::kRecorded) NoteRecorded(step);
  if (last.route == CallRoute::kReplayed) {
    // There is one, of which its life did not know: a try failed, or a step that was to go on from
    // another one has begun a path of its own.
    step.program->SetReplayed(step.choice.index,
                              dependencies_.GenerationsOf(*step.program));
  }
  if (is_apart && (last.route == CallRoute::kWarmedUp || last.reason == Reason::kRecordedApart)) {
    outputs.clear();
    GRAPHTREE_RETURN_IF_ERROR(RecordForCommit(step));
    NoteRecorded(step);
    return absl::OkStatus();
  }
  if (last.route != CallRoute::kRanEagerly) return absl::OkStatus();
  run->why = WhyOfRoute(step.choice.why, last, Before::kNothing);
  const std::string words = absl::StrCat(
      "it ran eagerly: ", last.reason.has_value() ? ReasonSentence(*last.reason) : "unknown");
  return run->why == Why::kNoMemory ? absl::ResourceExhaustedError(words)
                                    : absl::InternalError(words);
}

LastCall Recordings::NoteRoute(OpenStep& step) {
  const LastCall last = step.program->lane().tree->last_call();
  if (last.route != CallRoute::kReplayed) {
    NoteMiss(step, last);
    step.shape->TellWatch();
  } else if (!step.continues) {
    if (!step.shape->life.is_recorded()) step.shape->TellWatch(/*is_recorded=*/true);
    step.shape->life.Hit();
  }
  return last;
}

void Recordings::NoteMiss(OpenStep& step, const LastCall& last) {
  step.touched = dependencies_.TouchedSince(*step.program, *step.shape);
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

void Recordings::NoteRecorded(OpenStep& step) {
  ++step.program->lane().counts.recordings;
  const uint64_t epoch = step.program->options().needs_commit ? epoch_ : 0;
  step.program->SetRecorded(step.choice.index, /*is_first=*/!step.continues,
                            dependencies_.GenerationsOf(*step.program), epoch);
}

absl::Status Recordings::RecordForCommit(OpenStep& step) {
  absl::Status recorded = RecordApart(step);
  if (!recorded.ok()) ++step.program->lane().counts.failed_for_commit;
  return recorded;
}

void Recordings::RecordWhileServing(OpenStep& step) {
  const absl::Status recorded = RecordForCommit(step);
  if (recorded.ok()) return NoteRecorded(step);
  NoteFailedServing(*step.program, step.choice.index, Why::kFailed,
                    InStep(step, "recording", recorded));
}

void Recordings::NoteFailedServing(ProgramState& program, uint32_t index, Why why,
                                   const absl::Status& failure) {
  ++program.lane().counts.failed_recordings;
  if (absl::IsResourceExhausted(failure)) {
    lanes_.NoteRecordingLacked(program.lane(), &program.shape(index));
  }
  program.SetFailedServing(index, absl::IsResourceExhausted(failure) ? Why::kNoMemory : why,
                           options_.tree.budget.retry_after);
  if (!options_.tree.warn) return;
  const std::string words =
      absl::StrCat(failure.message(), ". Steps that run without it before it is tried again: ",
                   program.shape(index).life.pause());
  Guarded([&] { options_.tree.warn(words); }).IgnoreError();
}

std::vector<UncommittedShape> Recordings::Uncommitted() const {
  std::vector<UncommittedShape> waiting;
  programs_.ForEach([&](ProgramId id, const ProgramState& program) {
    for (Key& key : program.Uncommitted(epoch_)) waiting.push_back({id, std::move(key)});
  });
  return waiting;
}

absl::Status Recordings::Commit(uint64_t epoch) {
  GRAPHTREE_RETURN_IF_ERROR(lanes_.CheckNoStep(absl::StrCat("epoch ", epoch, " was committed")));
  if (epoch != epoch_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "epoch ", epoch, " was committed; the epoch that recordings belong to now is ", epoch_));
  }
  programs_.ForEach([epoch](ProgramId, ProgramState& program) { program.Commit(epoch); });
  ++epoch_;
  return absl::OkStatus();
}

}  // namespace graphtree
