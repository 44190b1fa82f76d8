// Measures for shadow, refuses for strict, and puts what parity finds into words.
#include "runtime/core/serving_steps.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "runtime/core/describe.h"
#include "runtime/core/lane.h"
#include "runtime/core/launch_cost.h"
#include "runtime/watch/lane_watch.h"
#include "runtime/watch/step_log.h"

namespace graphtree {
namespace {

// Why a step whose shape is recorded would be no replay now. REQUIRES: `touched` is set.
Why WhyNoReplay(const OpenStep& step) {
  if (!step.touched.empty()) return Why::kStaleDependency;
  return step.shape->life.is_recorded() ? Why::kEvicted : Why::kNotRecorded;
}

// The shape that serves the choice, or would if it were recorded.
uint32_t ShapeOf(const Choice& choice) {
  return IsReplay(choice.why) ? choice.index : choice.better;
}

}  // namespace

absl::Status ServingSteps::Set(const ServingMode& mode) {
  GRAPHTREE_RETURN_IF_ERROR(CheckServing(mode));
  GRAPHTREE_RETURN_IF_ERROR(
      lanes_.CheckNoStep(absl::StrCat("the mode was changed to ", ServingName(mode.serving))));
  if (mode.serving == Serving::kShadow && !watch_.knows_launch_costs()) {
    std::vector<LaunchCost> costs;
    for (Device* const device : lanes_.all_devices()) {
      const absl::StatusOr<LaunchCost> cost = lanes_.MakeBeside(
          [&] { return MeasureLaunchCost(*device, options_.clock_ns); });
      if (!cost.ok()) {
        return absl::Status(cost.status().code(),
                            absl::StrCat("measuring for mode shadow what a launch costs on ",
                                         device->info().name, ": ", cost.status().message()));
      }
      costs.push_back(*cost);
    }
    watch_.SetLaunchCosts(std::move(costs));
  }
  state_.Set(mode);
  return absl::OkStatus();
}

bool ServingSteps::MayRecord(absl::string_view who) {
  if (serves_graphs()) return true;
  teller_.WarnOnce(absl::StrCat("record ", ServingName(state_.serving())),
                   absl::StrCat(WhyNotRecorded(), "; the first to ask for it was ", who));
  return false;
}

std::string ServingSteps::WhyNotRecorded() const {
  return absl::StrCat("nothing is recorded, as the mode is ", ServingName(state_.serving()));
}

Choice ServingSteps::Choose(const ProgramState& program, const Key& key, Modes allowed) const {
  const Serving serving = state_.serving();
  if (serving == Serving::kOff) return {.why = Why::kOff, .key = key};
  Choice choice = program.table().Choose(key, allowed);
  if (serving != Serving::kShadow) return choice;
  return {.why = Why::kShadow, .better = ShapeOf(choice), .key = key};
}

absl::Status ServingSteps::CheckStrict(ProgramState& program, const Key& key,
                                      const Choice& choice) {
  if (state_.serving() != Serving::kStrict) return absl::OkStatus();
  Choice found = choice;
  if (IsReplay(choice.why)) {
    if (program.shape(choice.index).life.is_recorded()) return absl::OkStatus();
    found = {.why = Why::kNotRecorded, .better = choice.index, .key = key};
  }
  const uint32_t shape = ShapeOf(found);
  program.lane().watch->NoteRefused({.key = key,
                                     .why = found.why,
                                     .field = found.field,
                                     .program = program.number(),
                                     .shape = static_cast<uint32_t>(program.IdOf(shape))});
  const std::string why = found.why == Why::kVotedDown
                              ? absl::StrCat(WhyName(found.why), ": ", WhySentence(found.why))
                              : program.table().Describe(key, found);
  return absl::FailedPreconditionError(
      absl::StrCat("a step of '", program.name(), "' (", ToString(key),
                   ") was refused, since the mode is strict and it would run eagerly: ", why));
}

absl::Status ServingSteps::RefuseInRun(OpenStep& step) {
  step.touched = dependencies_.TouchedSince(*step.program, *step.shape);
  step.choice.why = WhyNoReplay(step);
  step.program->lane().watch->NoteRefused({.key = step.key,
                                           .why = step.choice.why,
                                           .program = step.program->number(),
                                           .shape = step.shape->watch->id});
  return absl::FailedPreconditionError(
      absl::StrCat("it was refused, since the mode is strict and it would run eagerly: ",
                   Describe(step, dependencies_)));
}

bool ServingSteps::IsCompared(Lane& lane, const Choice& choice) const {
  const uint32_t every = state_.parity_every();
  if (every == 0 || !IsReplay(choice.why)) return false;
  if (++lane.since_compared < every) return false;
  lane.since_compared = 0;
  return true;
}

void ServingSteps::Mark(OpenStep& step) const {
  step.is_strict = state_.serving() == Serving::kStrict;
  step.is_compared = IsCompared(step.program->lane(), step.choice);
  if (step.is_compared) step.parity = {Parity::kNotCompared, "it failed before it was run", ""};
  step.tolerance = state_.tolerance();
}

void ServingSteps::NoteShadow(const OpenStep& step, uint64_t ran_ns) {
  if (step.choice.better == kNoShape) return;
  ShadowCounts& shadow = step.program->shape(step.choice.better).watch->shadow;
  ++shadow.steps;
  shadow.eager_ns.Add(ran_ns);
  shadow.ops.Set(step.shape->ops);
  shadow.asked_bytes.Set(step.shape->asked_bytes);
}

void ServingSteps::NoteParity(const OpenStep& step) {
  LaneWatch& watch = *step.program->lane().watch;
  ParityWatch& shape = step.shape->watch->parity;
  const std::string where =
      absl::StrCat("'", step.program->name(), "' (", ToString(step.shape->key), ")");
  switch (step.parity.parity) {
    case Parity::kNotCompared:
      ++watch.counts.parity_skipped;
      teller_.WarnOnce(absl::StrCat("parity skipped ", where, step.parity.text),
                       absl::StrCat("a replay of ", where, " could not be compared with a run of ",
                                    "its body: ", step.parity.text));
      return;
    case Parity::kSame:
      ++watch.counts.parity_same;
      ++shape.same;
      return;
    case Parity::kDiffers:
      ++watch.counts.parity_differs;
      shape.NoteDifference(step.parity.op, step.parity.text);
      teller_.WarnOnce(absl::StrCat("parity ", where, " ", step.parity.op),
                       absl::StrCat("a replay of ", where, " left other bytes than a run of its ",
                                    "body on the same inputs: ", step.parity.text));
      return;
  }
}

}  // namespace graphtree
