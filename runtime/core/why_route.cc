// One case for each route.
#include "runtime/core/why_route.h"

namespace graphtree {
namespace {

Why WhyRecorded(Before before) {
  switch (before) {
    case Before::kNothing:
      return Why::kNotRecorded;
    case Before::kStale:
      return Why::kStaleDependency;
    case Before::kEvicted:
      return Why::kEvicted;
  }
  return Why::kNotRecorded;
}

Why WhyEager(Reason reason, Before before) {
  switch (reason) {
    case Reason::kOutOfPool:
    case Reason::kGivenUp:
    case Reason::kOutOfDevice:
    case Reason::kOverBudget:
    case Reason::kShapeLimit:
      return Why::kNoMemory;
    case Reason::kTreeOff:
    case Reason::kExcluded:
      return Why::kExcluded;
    case Reason::kRecordedApart:
      return WhyRecorded(before);
    default:
      return Why::kFailed;
  }
}

}  // namespace

Why WhyOfRoute(Why chosen, const LastCall& last, Before before) {
  switch (last.route) {
    case CallRoute::kNone:
    case CallRoute::kReplayed:
      return chosen;
    case CallRoute::kWarmedUp:
      return before == Before::kEvicted ? Why::kEvicted : Why::kWarmingUp;
    case CallRoute::kRecorded:
      return WhyRecorded(before);
    case CallRoute::kRanEagerly:
      return last.reason.has_value() ? WhyEager(*last.reason, before) : Why::kFailed;
  }
  return chosen;
}

}  // namespace graphtree
