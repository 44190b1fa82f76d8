// One case for each route.
#include "runtime/core/why_route.h"

namespace graphtree {
namespace {

Why WhyEager(Reason reason) {
  switch (reason) {
    case Reason::kOutOfPool:
    case Reason::kOutOfDevice:
    case Reason::kOverBudget:
    case Reason::kShapeLimit:
      return Why::kNoMemory;
    case Reason::kTreeOff:
    case Reason::kExcluded:
      return Why::kExcluded;
    default:
      return Why::kFailed;
  }
}

}  // namespace

Why WhyOfRoute(Why chosen, const LastCall& last) {
  switch (last.route) {
    case CallRoute::kNone:
    case CallRoute::kReplayed:
      return chosen;
    case CallRoute::kWarmedUp:
      return Why::kWarmingUp;
    case CallRoute::kRecorded:
      return last.reason == Reason::kWorkspaceMoved ? Why::kStaleDependency : Why::kNotRecorded;
    case CallRoute::kRanEagerly:
      return last.reason.has_value() ? WhyEager(*last.reason) : Why::kFailed;
  }
  return chosen;
}

}  // namespace graphtree
