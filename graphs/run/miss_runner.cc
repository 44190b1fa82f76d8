// Takes the route that was decided.
#include "graphs/run/miss_runner.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "graphs/run/check_call.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {
namespace {

using Route = Decision::Route;

std::optional<Reason> WhyOthersDoNotServe(const MissFacts& facts) {
  if (!facts.sibling.has_value()) return std::nullopt;
  return facts.sibling->against;
}

// Of a function that has to run before it can be recorded.
std::string WhyWarmUp(const Variant& variant) {
  if (variant.warm) {
    return "it follows a warm-up on this path. Begin a step, and run first what comes before it";
  }
  if (variant.last_failure.empty()) return "it is not warmed up. Run it first";
  return absl::StrCat("it is not warmed up, as its last run or recording failed (",
                      variant.last_failure, "). Run it first");
}

// Of a call that is to be recorded only, and is decided otherwise.
absl::Status WhyNotRecorded(const Call& call, const Decision& decision) {
  const std::string was_not = absl::StrCat("'", call.function.name, "' was not recorded: ");
  switch (decision.route) {
    case Route::kWarmUp:
      return absl::FailedPreconditionError(absl::StrCat(was_not, WhyWarmUp(*call.variant)));
    case Route::kEager:
      return absl::FailedPreconditionError(
          absl::StrCat(was_not, ReasonSentence(decision.reason)));
    default:
      return absl::OkStatus();  // a recording is there
  }
}

// Of a call that is to be recorded only, and whose recording was given up.
absl::Status WhyGivenUp(const Call& call, const RecordOutcome& recorded) {
  return absl::Status(IsLackOfRoom(recorded.reason) ? absl::StatusCode::kResourceExhausted
                                                    : absl::StatusCode::kFailedPrecondition,
                      absl::StrCat("'", call.function.name, "' was not recorded: ",
                                   ReasonSentence(recorded.reason), ": ", recorded.detail));
}

// Of a call that must be replayed, and cannot be.
absl::Status NothingReplayed(const Call& call, Reason reason, const std::string& detail) {
  const std::string text =
      absl::StrCat("'", call.function.name, "' was to be replayed, and would run eagerly: ",
                   ReasonSentence(reason), detail.empty() ? "" : ": ", detail);
  return IsLackOfRoom(reason) ? absl::ResourceExhaustedError(text)
                              : absl::FailedPreconditionError(text);
}

}  // namespace

absl::Status MissRunner::Run(Call& call) {
  const StepMemory::InCall in_call(*ground_.memory);
  const Keeper::SettledAtTheEnd settled{functions_.keeper()};
  GRAPHTREE_RETURN_IF_ERROR(Check(call));
  functions_.keeper().BeginCall(journal_.stats().calls, ground_.order.last());
  const bool destroys = IsPlanted(PlantedBug::kDestroysInCaptures);
  if (destroys && ground_.device.open_captures() > 0) {
    functions_.keeper().graveyard().DestroyAll();
  }
  books_.path().ForgetDead();  // outputs that died since the last call are let go within this one
  Miss miss = routes_.misses().Begin(&call);
  if (call.variant != nullptr) GRAPHTREE_RETURN_IF_ERROR(CheckPromises(call));
  return TakeRoute(call, &miss);
}

absl::Status MissRunner::Check(Call& call) {
  GRAPHTREE_RETURN_IF_ERROR(call.function.options_error);
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(ground_, call));
  GRAPHTREE_RETURN_IF_ERROR(CheckInputs(ground_, call));
  if (!checks_.Applies(call.function)) return absl::OkStatus();
  checks_.NoteCaller(&call);
  return checks_.InputsAreLive(call);
}

absl::Status MissRunner::TakeRoute(Call& call, Miss* miss) {
  RecordOutcome recorded;
  const size_t most = Recorder::MostRecordings(call);
  for (size_t recordings = 0; recordings < most;) {
    const bool is_again = recordings > 0;
    const Decision decision = Look(call, is_again, miss);
    const bool may_record = decision.route == Route::kRecord || decision.route == Route::kNewPath;
    if (!call.launches && !may_record) return WhyNotRecorded(call, decision);
    routes_.notes().Note(call, decision, miss);
    if (!may_record) return Take(decision, *miss, call);
    if (decision.route == Route::kNewPath) {
      if (books_.EndPathIfDead()) functions_.LetLeave();
      continue;
    }
    ++recordings;
    if (!is_again) journal_.NoteRoute(CallRoute::kRecorded, WhyOthersDoNotServe(miss->facts));
    recorded = routes_.recorder().Record(call, miss->roles);
    if (recorded.next != RecordOutcome::Next::kAgain) break;
  }
  return AfterRecording(recorded, *miss, call);
}

Decision MissRunner::Look(Call& call, bool is_again, Miss* miss) {
  ToldPhase told(journal_.observers(), Phase::kMatch, call.function.name);
  routes_.misses().Look(call, is_again, miss);
  told.Ended(absl::OkStatus()).IgnoreError();
  return Decide(miss->facts);
}

absl::Status MissRunner::Take(const Decision& decision, const Miss& miss, Call& call) {
  if (decision.route == Route::kEager) {
    journal_.NoteRoute(CallRoute::kRanEagerly, decision.reason);
    return routes_.eager().Run(call, decision.reason, miss.roles.chosen);
  }
  if (decision.route == Route::kWarmUp) {
    journal_.NoteRoute(CallRoute::kWarmedUp);
    return routes_.eager().WarmUp(call, miss.roles.own);
  }
  if (ground_.memory->other_users().any()) {
    GRAPHTREE_RETURN_IF_ERROR(WaitForOtherUsers(ground_, call));
  }
  absl::Status status = routes_.replayer().Replay(miss.match, call);
  return status.ok() ? status : AfterFailedReplay(*miss.match, call, std::move(status));
}

absl::Status MissRunner::AfterRecording(const RecordOutcome& recorded, const Miss& miss,
                                        Call& call) {
  if (recorded.next == RecordOutcome::Next::kDone) return recorded.status;
  if (!call.launches) return WhyGivenUp(call, recorded);
  if (recorded.next == RecordOutcome::Next::kWarmUp) {
    journal_.NoteRoute(CallRoute::kWarmedUp);
    return routes_.eager().WarmUp(call, miss.roles.own);
  }
  journal_.NoteRoute(CallRoute::kRanEagerly, recorded.reason);
  return routes_.eager().Run(call, recorded.reason, miss.roles.chosen, recorded.detail);
}

absl::Status MissRunner::AfterFailedReplay(const Node& node, Call& call, absl::Status status) {
  functions_.keeper().Settle();
  const std::optional<Replayer::NotReplayed> why = routes_.replayer().TakeNotReplayed();
  if (!why.has_value()) return status;
  if (call.must_replay) return NothingReplayed(call, why->reason, why->detail);
  ground_.foreign->AwaitAllocations();
  call.variant = node.variant;
  journal_.NoteRoute(CallRoute::kRanEagerly, why->reason);
  return routes_.eager().Run(call, why->reason, {}, why->detail);
}

}  // namespace graphtree
