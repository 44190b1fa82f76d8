// A step from Begin to what came of it.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "tests/runtime/simulation/world.h"

namespace graphtree::runtime_simulation {
namespace {

absl::Status Wrong(absl::string_view what, absl::string_view words) {
  return absl::InternalError(absl::StrCat(what, "; the step says: ", words));
}

}  // namespace

absl::Status World::DoStep(const StepSpec& spec) {
  Open open;
  GRAPHTREE_RETURN_IF_ERROR(
      Begin(spec, spec.call, Modes::FromBits(spec.modes), spec.is_voted_down, &open));
  GRAPHTREE_RETURN_IF_ERROR(StageAll(open));
  return Finish(open);
}

absl::Status World::Begin(const StepSpec& spec, const Key& call, Modes modes, bool is_voted_down,
                          Open* open) {
  Program& program = programs_[spec.program];
  Stream& stream = *streams_[spec.stream];
  const StepOptions options = {
      .modes = modes, .is_voted_down = is_voted_down, .continues = spec.continues};
  if (program.model == nullptr) {
    return ShouldFail("a program that is not there",
                      runtime_->Begin(program.id, call, stream, options).status());
  }
  ProgramModel& model = *program.model;
  if (spec.mistake == Mistake::kBadKey) {
    for (Key bad : {Key{.tokens = -3}, Key{.requests = kAny}, Key{.any_extra = true}}) {
      GRAPHTREE_RETURN_IF_ERROR(
          ShouldFail("a bad key", runtime_->Begin(program.id, bad, stream, options).status()));
    }
  }
  open->spec = &spec;
  GRAPHTREE_RETURN_IF_ERROR(Choose(program, call, modes, open));
  const Choice chosen = open->choice;
  absl::StatusOr<Step> step =
      Call([&] { return runtime_->Begin(program.id, call, stream, options); });
  const bool has_shape = IsReplay(chosen.why) && !is_voted_down;
  if (!has_shape && !model.Fits(call)) {
    Count("calls that slots cannot hold");
    return ShouldFail("a call that the slots cannot hold", step.status());
  }
  GRAPHTREE_ASSIGN_OR_RETURN(
      const bool is_refused,
      IsRefusedByStrict(*open, has_shape, step.ok() ? absl::OkStatus() : step.status()));
  if (is_refused) return absl::OkStatus();
  if (!step.ok()) return MayFail(step.status()) ? absl::OkStatus() : step.status();
  open->step = *step;
  Choose(step->choice(), has_shape, open);
  const bool is_voted = is_voted_down && ServesGraphs(mode_.serving);
  const Why expected = is_voted ? Why::kVotedDown : chosen.why;
  if (step->why() == expected) return absl::OkStatus();
  return Wrong("it was begun for another reason", step->Describe());
}

Verdict World::MayChoose(const Program& program, const Key& call, Modes modes,
                         const Choice& chosen) const {
  if (ServesGraphs(mode_.serving)) return program.model->MayChoose(call, modes, chosen);
  const Why why = mode_.serving == Serving::kOff ? Why::kOff : Why::kShadow;
  const bool is_eager = chosen.why == why && chosen.index == kNoShape && chosen.key == call;
  return is_eager ? Verdict::kPossible : Verdict::kImpossible;
}

absl::Status World::Choose(Program& program, const Key& call, Modes modes, Open* open) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Choice chosen, runtime_->Choose(program.id, call, modes));
  const Verdict verdict = MayChoose(program, call, modes, chosen);
  Count(verdict == Verdict::kNotLooked ? "choices not looked at" : "choices looked at");
  if (verdict == Verdict::kImpossible) {
    return absl::InternalError(absl::StrCat("shape ", chosen.index, " was chosen, as ",
                                            WhyName(chosen.why), ", for ", ToString(call)));
  }
  open->program = &program;
  open->call = call;
  Choose(chosen, IsReplay(chosen.why), open);
  return absl::OkStatus();
}

void World::Choose(const Choice& chosen, bool has_shape, Open* open) {
  ProgramModel& model = *open->program->model;
  open->choice = chosen;
  open->has_shape = has_shape;
  open->body = open->padded = has_shape ? model.ShapeAt(chosen.index).key : open->call;
  open->data.resize(model.spec().slots.size());
  open->staged.resize(model.spec().slots.size());
}

// What the server does between Begin and Run.
absl::Status World::Between(Open& open) {
  const ProgramSpec& spec = open.program->model->spec();
  if (open.spec->moves_dep) {
    const auto pick = static_cast<uint32_t>(steps_);
    const uint32_t dep = spec.deps.empty() ? 0 : spec.deps[pick % spec.deps.size()];
    GRAPHTREE_RETURN_IF_ERROR(Move(dep, pick));
  }
  if (open.spec->excludes && open.has_shape) {
    open.program->model->Exclude(open.body, true);
    return runtime_->Exclude(open.program->id, open.body);
  }
  return absl::OkStatus();
}

absl::Status World::Finish(Open& open) {
  if (!open.step.has_value()) return absl::OkStatus();
  const StepSpec& spec = *open.spec;
  Step& step = *open.step;
  GRAPHTREE_RETURN_IF_ERROR(Between(open));
  NoteReads(spec.program);
  Values outputs;
  if (spec.is_canceled) {
    step.Cancel();
    Count("canceled steps");
    return ShouldFail("a canceled step", step.Run(&outputs));
  }
  Program& program = *open.program;
  GRAPHTREE_RETURN_IF_ERROR(GoBehindSide(spec.stream));
  program.body.ran.clear();
  program.body.fails = spec.body_fails;
  open.generations = GenerationsOf(program.model->spec());
  const bool is_refused = open.forgets || spec.mistake == Mistake::kNoOutputs;
  Values* const place = spec.mistake == Mistake::kNoOutputs ? nullptr : &outputs;
  const absl::Status said = Call([&] { return step.Run(place); });
  program.body.fails = false;
  GRAPHTREE_RETURN_IF_ERROR(ShouldFail("a step that is over", step.Run(&outputs)));
  if (is_refused) return CheckRefused(said, open);
  open.why = step.why();
  open.words = step.Describe();
  if (mode_.serving == Serving::kStrict) {
    GRAPHTREE_ASSIGN_OR_RETURN(const bool is_refused_now, CheckStrict(open, said));
    if (is_refused_now) return absl::OkStatus();
  }
  if (!absl::StrContains(open.words, WhyName(open.why))) {
    return Wrong("it does not say why", open.words);
  }
  absl::StatusOr<Effects> made = NoteRun(open, said);
  if (!said.ok() || !made.ok()) return made.status();
  GRAPHTREE_RETURN_IF_ERROR(TakeOutputs(open, *std::move(made), std::move(outputs)));
  return AfterStep(open);
}

absl::StatusOr<Effects> World::NoteRun(Open& open, const absl::Status& said) {
  Program& program = *open.program;
  ProgramModel& model = *program.model;
  LaneModel& lane = lanes_[model.spec().lane];
  if (!open.spec->continues) ++lane.path;
  ++steps_;
  ++whys_[static_cast<size_t>(open.why)];
  Count(WhyName(open.why));
  open.grew = !program.body.ran.empty() && Grow(model.spec(), open.body);
  if (!said.ok()) {
    GRAPHTREE_RETURN_IF_ERROR(AfterFailure(open, said));
    return Effects{};
  }
  GRAPHTREE_RETURN_IF_ERROR(CheckRoute(open));
  ++lane.done;
  lane.last.key = open.has_shape ? open.choice.key : Key();
  lane.last.shape = open.has_shape ? open.choice.index : kNoShape;
  model.Unpack(open.padded, open.staged);
  Effects made = model.Compute(open.body, deps_, program.log, program.sum);
  program.log = made.log;
  program.sum = made.sum;
  return made;
}

absl::Status World::CheckRefused(const absl::Status& said, const Open& open) {
  GRAPHTREE_RETURN_IF_ERROR(ShouldFail("a step without all that it needs", said));
  Count("refused steps");
  if (open.step->why() != Why::kFailed) {
    return Wrong("it was refused, and has not failed", open.step->Describe());
  }
  if (open.program->body.ran.empty()) return absl::OkStatus();
  return Wrong("it was refused, and its body ran", open.step->Describe());
}

// If its body did not run, nothing was done, and the next check finds everything as it was. What a
// body has written in place before it failed is the server's own matter, and so is what slots keep
// of such a step.
absl::Status World::AfterFailure(Open& open, const absl::Status& said) {
  Program& program = *open.program;
  const bool is_planned = open.spec->body_fails && !program.body.ran.empty();
  if (!is_planned && !MayFail(said)) return said;
  if (open.why != Why::kFailed) {
    return Wrong("it failed, and says something else", open.words);
  }
  if (is_planned && !faulted_ && !script_.is_small &&
      !absl::StrContains(said.message(), kPlannedFailure)) {
    return said;
  }
  Count(is_planned ? "bodies that failed" : "steps that failed");
  if (open.has_shape) program.model->ShapeAt(open.choice.index).is_unsure = true;
  if (!faulted_) return program.body.ran.empty() ? absl::OkStatus() : Adopt();
  // What could not be put into an order may still run.
  const std::string where = plan_->fired_in();
  done_ = where == "Stream.Record" || where == "Stream.Wait";
  return done_ ? absl::OkStatus() : Adopt();
}

absl::Status World::ExpectWhy(const Open& open, const ShapeModel& shape) const {
  Why expected = open.choice.why;
  if (!shape.is_recorded) {
    expected = shape.is_warm ? Why::kNotRecorded : Why::kWarmingUp;
  } else if (shape.generations != open.generations) {
    expected = Why::kStaleDependency;
  }
  // A recording in which a workspace moves is given up, and the step runs at once.
  const bool is_recording =
      expected == Why::kNotRecorded || expected == Why::kStaleDependency;
  if (open.grew && is_recording && !open.program->model->spec().needs_commit) {
    expected = Why::kFailed;
  }
  if (open.why == expected) return absl::OkStatus();
  return Wrong(absl::StrCat("it ran as ", WhyName(open.why), " instead of ", WhyName(expected)),
               open.words);
}

absl::Status World::CheckRoute(Open& open) {
  const Why why = open.why;
  const std::vector<BodyWorld::Ran>& ran = open.program->body.ran;
  ProgramModel& model = *open.program->model;
  for (const BodyWorld::Ran& run : ran) {
    if (!(run.key == open.body)) return Wrong("its body was given another key", open.words);
  }
  if (!open.has_shape) {
    if (why != open.choice.why) return Wrong("it ran for another reason", open.words);
    if (ran.size() != 1) return Wrong("its body did not run once", open.words);
    if (ran[0].mode == Mode::kEager) return absl::OkStatus();
    return Wrong("its body was not told that it ran at once", open.words);
  }
  ShapeModel& shape = model.ShapeAt(open.choice.index);
  for (const BodyWorld::Ran& run : ran) {
    if (run.mode != shape.mode) return Wrong("its body was given another mode", open.words);
  }
  // A replay that is compared has its body run twice beside it, unless such a run fails.
  const bool may_fail = script_.is_small || faulted_ || open.spec->body_fails;
  const bool is_compared = mode_.parity_every > 0 && IsReplay(why) &&
                           (ran.size() == 2 || (ran.size() == 1 && may_fail));
  if (is_compared) Count("replays compared");
  if (ran.empty() != IsReplay(why) && !is_compared) {
    const size_t times = ran.size();
    return Wrong(absl::StrCat("it was replayed, or not, wrongly; its body ran ", times, " times"),
                 open.words);
  }
  if (IsReplay(why) && why != open.choice.why) return Wrong("hit is not cover", open.words);
  const bool is_sure =
      !script_.is_small && !shape.is_unsure && !open.spec->continues && !faulted_;
  if (is_sure) GRAPHTREE_RETURN_IF_ERROR(ExpectWhy(open, shape));
  const std::vector<uint64_t> now = GenerationsOf(model.spec());
  const bool was_there = shape.is_recorded && shape.generations == open.generations;
  const bool is_recorded = why == Why::kNotRecorded || why == Why::kStaleDependency;
  const bool is_sure_record = !script_.is_small && !faulted_;
  const bool may_be_recorded = why == Why::kEvicted && model.spec().needs_commit;
  if (IsReplay(why)) shape.is_waiting = false;
  if (is_recorded || may_be_recorded) {
    model.NoteRecorded(&shape, is_sure_record && !may_be_recorded);
  }
  if (open.spec->continues) {
    // On another path there are other recordings.
    if (!was_there) shape.is_unsure = true;
  } else if (is_recorded || IsReplay(why)) {
    shape.is_warm = shape.is_recorded = true;
    shape.generations = now;
    shape.is_unsure = faulted_;
  } else if (why == Why::kWarmingUp) {
    shape.is_warm = true;
  }
  if (why == Why::kEvicted) shape.is_unsure = true;
  if (why == Why::kFailed) {
    // The tree lets a body alone for a while whose recordings are given up.
    shape.is_unsure = true;
    if (open.grew) Count("workspaces moved in a recording");
  }
  return absl::OkStatus();
}

absl::Status World::TakeOutputs(Open& open, Effects made, Values outputs) {
  const ProgramSpec& spec = open.program->model->spec();
  if (outputs.size() != made.outputs.size()) {
    return Wrong(absl::StrCat("it gave ", outputs.size(), " outputs"), open.words);
  }
  const bool looks = steps_ % 2 == 0 && !open.spec->holds && !script_.is_hasty;
  if (looks) GRAPHTREE_RETURN_IF_ERROR(streams_[open.spec->stream]->Synchronize());
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const bool is_kept = std::count(spec.kept.begin(), spec.kept.end(), i) > 0;
    Held held = {.value = std::move(outputs[i]),
                 .bytes = std::move(made.outputs[i]),
                 .lane = spec.lane,
                 .path = lanes_[spec.lane].path,
                 .is_kept = is_kept};
    if (!held.value.is_tensor() || RangeOf(held.value).bytes != held.bytes.size()) {
      return Wrong(absl::StrCat("output ", i, " is ", Description(held.value)), open.words);
    }
    if (looks) {
      const absl::Status status = CheckHeld(held);
      if (!status.ok()) {
        return Wrong(absl::StrCat("output ", i, ": ", status.message()), open.words);
      }
    }
    if (open.spec->holds) held_.push_back(std::move(held));
  }
  constexpr size_t kMostHeld = 16;
  while (held_.size() > kMostHeld) held_.erase(held_.begin());
  return absl::OkStatus();
}

}  // namespace graphtree::runtime_simulation
