// Each route of the tree's, as the step's reason.
#include "runtime/core/why_route.h"

#include <optional>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

Why Of(CallRoute route, std::optional<Reason> reason = std::nullopt,
       Before before = Before::kNothing, Why chosen = Why::kCover) {
  return WhyOfRoute(chosen, {route, reason}, before);
}

TEST(WhyRouteTest, AReplayIsWhatWasChosen) {
  EXPECT_EQ(Of(CallRoute::kReplayed), Why::kCover);
  EXPECT_EQ(Of(CallRoute::kReplayed, std::nullopt, Before::kStale, Why::kHit), Why::kHit);
  EXPECT_EQ(Of(CallRoute::kNone), Why::kCover);
}

TEST(WhyRouteTest, AFirstRunAndARecordingSayWhatBecameOfTheOneBefore) {
  EXPECT_EQ(Of(CallRoute::kWarmedUp), Why::kWarmingUp);
  EXPECT_EQ(Of(CallRoute::kWarmedUp, std::nullopt, Before::kStale), Why::kWarmingUp);
  EXPECT_EQ(Of(CallRoute::kWarmedUp, std::nullopt, Before::kEvicted), Why::kEvicted);
  EXPECT_EQ(Of(CallRoute::kRecorded), Why::kNotRecorded);
  EXPECT_EQ(Of(CallRoute::kRecorded, Reason::kWorkspaceMoved, Before::kStale),
            Why::kStaleDependency);
  EXPECT_EQ(Of(CallRoute::kRecorded, std::nullopt, Before::kEvicted), Why::kEvicted);
}

TEST(WhyRouteTest, AnEagerRunGoesByTheTreesReason) {
  for (const Reason reason : {Reason::kOutOfPool, Reason::kGivenUp, Reason::kOutOfDevice,
                              Reason::kOverBudget, Reason::kShapeLimit}) {
    EXPECT_EQ(Of(CallRoute::kRanEagerly, reason), Why::kNoMemory) << ReasonName(reason);
  }
  EXPECT_EQ(Of(CallRoute::kRanEagerly, Reason::kTreeOff), Why::kExcluded);
  EXPECT_EQ(Of(CallRoute::kRanEagerly, Reason::kExcluded), Why::kExcluded);
  EXPECT_EQ(Of(CallRoute::kRanEagerly, Reason::kRecordFailed), Why::kFailed);
  EXPECT_EQ(Of(CallRoute::kRanEagerly), Why::kFailed);
  EXPECT_EQ(Of(CallRoute::kRanEagerly, Reason::kRecordedApart), Why::kNotRecorded);
  EXPECT_EQ(Of(CallRoute::kRanEagerly, Reason::kRecordedApart, Before::kStale),
            Why::kStaleDependency);
  EXPECT_EQ(Of(CallRoute::kRanEagerly, Reason::kRecordedApart, Before::kEvicted), Why::kEvicted);
}

}  // namespace
}  // namespace graphtree
