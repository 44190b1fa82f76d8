// Follows the table of the header.
#include "graphs/run/decide.h"

namespace graphtree {
namespace {

using Route = Decision::Route;

Decision Eager(Rule rule, Reason reason) { return {rule, Route::kEager, reason}; }

// Rules 1 to 8: the path is over, the caller asked for eager runs, or the function cannot be
// recorded.
std::optional<Decision> DecideEarly(const MissFacts& facts) {
  if (facts.size == SizeVerdict::kNotListed) {
    return Eager(Rule::kSizeNotListed, Reason::kSizeNotListed);
  }
  if (facts.size == SizeVerdict::kVaries) return Eager(Rule::kSizesVary, Reason::kSizesVary);
  if (!facts.is_again && Grows(facts.path) && !facts.path_is_held) {
    return Decision{Rule::kDeadPathGrows, Route::kNewPath};
  }
  if (facts.is_long_step && facts.path == PathState::kWarmUp) {
    return Eager(Rule::kLongStep, Reason::kLongStep);
  }
  if (!facts.enabled) return Eager(Rule::kTreeOff, Reason::kTreeOff);
  if (facts.excluded) return Eager(Rule::kExcluded, Reason::kExcluded);
  if (facts.asks_for_ever) return Eager(Rule::kWarmUpForEver, Reason::kWarmUpForEver);
  if (facts.works_elsewhere) return Eager(Rule::kWorksElsewhere, Reason::kWorksElsewhere);
  return std::nullopt;
}

// Rules 9 to 13: these inputs cannot be recorded, or not now.
std::optional<Decision> WhyNotNow(const MissFacts& facts) {
  if (facts.obstacle == RoleObstacle::kWritten) {
    return Eager(Rule::kMutatedInput, Reason::kMutatedInput);
  }
  if (facts.writes_overlap) return Eager(Rule::kOverlappingInputs, Reason::kOverlappingInputs);
  if (facts.pause > 0) {
    return Eager(Rule::kPaused, facts.was_given_up ? Reason::kGivenUp : Reason::kPaused);
  }
  if (facts.is_rerecorded_too_often) {
    return Eager(Rule::kRerecordedTooOften, Reason::kRerecordLimit);
  }
  if (!facts.has_place) return Eager(Rule::kNoPlace, Reason::kShapeLimit);
  return std::nullopt;
}

}  // namespace

bool IsSettledEarly(const MissFacts& facts) { return DecideEarly(facts).has_value(); }

Decision Decide(const MissFacts& facts) {
  if (const auto early = DecideEarly(facts)) return *early;
  if (const auto not_now = WhyNotNow(facts)) return *not_now;
  if (facts.is_again) return {Rule::kRecord, Route::kRecord};
  if (!facts.warm || facts.path == PathState::kWarmUp) return {Rule::kWarmUp, Route::kWarmUp};
  if (facts.matches) return {Rule::kReplay, Route::kReplay};
  if (facts.path == PathState::kReplaying && !facts.path_is_held) {
    return {Rule::kNewPath, Route::kNewPath};
  }
  if (facts.obstacle == RoleObstacle::kMoves) {
    return Eager(Rule::kInputMoves, Reason::kInputMoves);
  }
  const bool unexpected = facts.sibling.has_value() && !facts.sibling->is_expected;
  if (unexpected && facts.rerecords + 1 > facts.rerecord_limit) {
    return Eager(Rule::kOneTooMany, Reason::kRerecordLimit);
  }
  if (facts.waits_for_record) return Eager(Rule::kRecordedApart, Reason::kRecordedApart);
  return {Rule::kRecord, Route::kRecord};
}

RerecordVerdict JudgeRerecords(const Rerecords& seen, uint64_t limit, uint64_t retry_after) {
  if (seen.count <= limit) return {false, seen};
  if (seen.refused + 1 < retry_after) return {true, {seen.count, seen.refused + 1}};
  const Rerecords forgiven = {seen.count / 2, 0};
  return {forgiven.count > limit, forgiven};
}

}  // namespace graphtree
