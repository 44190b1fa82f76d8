// Sums, their text, and that a function that goes takes its edges along.
#include "graphs/reports/call_counts.h"

#include <cstddef>

#include "graphs/reason.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

CallCounts Some() {
  CallCounts counts;
  counts.replays = 120;
  counts.recordings = 3;
  counts.warm_ups = 1;
  counts.eager = 80;
  counts.reasons[static_cast<size_t>(Reason::kExcluded)] = 80;
  return counts;
}

TEST(CallCountsTest, TheySum) {
  CallCounts sum = Some();
  sum.Add(Some());
  EXPECT_EQ(ToString(sum), "240 replays, 6 recorded, 2 warm-ups, 160 eager: excluded 160");
}

TEST(CallCountsTest, WhatIsNothingIsLeftOut) {
  EXPECT_EQ(ToString(CallCounts()), "no calls");
  EXPECT_EQ(ToString(Some()), "120 replays, 3 recorded, 1 warm-up, 80 eager: excluded 80");
}

TEST(CallCountsTest, EdgesAreDrawnInAColumn) {
  CallCounts one;
  one.replays = 1;
  EXPECT_EQ(DrawEdges({{{kPathBegin, 0}, "", "prefill", one}, {{0, 1}, "prefill", "decode", one}}),
            "(begin) -> prefill  1 replay\n"
            "prefill -> decode   1 replay\n");
}

TEST(CallTallyTest, AFunctionTakesItsEdgesWithIt) {
  CallTally tally;
  tally.On({kPathBegin, 0}).replays = 1;
  tally.On({0, 1}).replays = 2;
  tally.On({1, 2}).replays = 3;
  tally.Count({kPathBegin, 2}, Reason::kPaused, 4);
  tally.Forget(1);
  EXPECT_EQ(tally.all().size(), 2u);
  EXPECT_EQ(tally.On({kPathBegin, 0}).replays, 1u);
  EXPECT_EQ(tally.On({kPathBegin, 2}).reasons[static_cast<size_t>(Reason::kPaused)], 4u);
}

}  // namespace
}  // namespace graphtree
