// Which steps are timed, and that all of them are counted.
#include "runtime/watch/lane_watch.h"

#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

class LaneWatchTest : public testing::Test {
 protected:
  // Every look at the clock takes a microsecond.
  LaneWatch watch_{[this] { return now_ += 1000; }, /*is_on=*/true};
  ShapeWatch shape_{0, {.tokens = 8}, Mode::kFull};
  int64_t now_ = 0;

  bool Step(bool expects_replay, LoggedStep step, uint64_t padded = 0) {
    const int64_t began = watch_.BeginTiming(expects_replay);
    watch_.Note(step, began, padded, shape_);
    return began != LaneWatch::kNotTimed;
  }
};

TEST_F(LaneWatchTest, TimesWhatIsNoReplayAlways) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Step(false, {.why = Why::kAboveCeiling, .route = CallRoute::kRanEagerly}));
  }
  const DurationCounts times = watch_.times(CallRoute::kRanEagerly);
  EXPECT_EQ(times.count(), 100u);
  EXPECT_EQ(times.total_ns, 100u * 1000);
  EXPECT_EQ(times.buckets[0], 100u) << "1000 ns are less than 1024";
}

TEST_F(LaneWatchTest, SaysWhatTheLaneDoesForAsLongAsItDoesIt) {
  EXPECT_EQ(watch_.doing().kind, LaneDoing::Kind::kNothing);
  {
    const LaneWatch::Doing doing(watch_, {LaneDoing::Kind::kRecording, 0x3fffffff, 0xfffffffe});
    EXPECT_EQ(watch_.doing().kind, LaneDoing::Kind::kRecording);
    EXPECT_EQ(watch_.doing().program, 0x3fffffffu);
    EXPECT_EQ(watch_.doing().shape, 0xfffffffeu);
  }
  EXPECT_EQ(watch_.doing().kind, LaneDoing::Kind::kNothing);
}

TEST_F(LaneWatchTest, TimesReplaysNowAndThenAndInNoRhythm) {
  std::vector<int> gaps;
  int since = 0;
  for (int i = 0; i < 16000; ++i) {
    ++since;
    if (!Step(true, {.why = Why::kHit, .route = CallRoute::kReplayed})) continue;
    gaps.push_back(since);
    since = 0;
  }
  EXPECT_GT(gaps.size(), 900u);
  EXPECT_LT(gaps.size(), 1200u);
  bool has_gap[32] = {};
  for (size_t i = 1; i < gaps.size(); ++i) {
    ASSERT_GE(gaps[i], 8);
    ASSERT_LE(gaps[i], 23);
    has_gap[gaps[i]] = true;
  }
  for (int gap = 8; gap <= 23; ++gap) EXPECT_TRUE(has_gap[gap]) << gap;
  EXPECT_EQ(watch_.times(CallRoute::kReplayed).count(), gaps.size());
}

TEST_F(LaneWatchTest, CountsByRouteAndReason) {
  Step(true, {.why = Why::kHit, .route = CallRoute::kReplayed});
  Step(true, {.why = Why::kCover, .route = CallRoute::kReplayed}, /*padded=*/3);
  Step(true, {.why = Why::kCover, .route = CallRoute::kReplayed}, /*padded=*/4);
  Step(false, {.why = Why::kNotRecorded, .route = CallRoute::kRecorded});
  Step(false, {.why = Why::kNotRecorded, .route = CallRoute::kRanEagerly});
  EXPECT_EQ(watch_.count(CallRoute::kReplayed, Why::kCover), 2u);
  EXPECT_EQ(watch_.count(CallRoute::kRecorded, Why::kNotRecorded), 1u);
  EXPECT_EQ(watch_.count(Why::kNotRecorded), 2u);
  EXPECT_EQ(watch_.padded_tokens(), 7u);
  EXPECT_EQ(shape_.why[static_cast<size_t>(Why::kCover)].get(), 2u);
  EXPECT_EQ(shape_.times[static_cast<size_t>(CallRoute::kRecorded)].timed.get(), 1u);
  EXPECT_EQ(watch_.log().count(), 5u);
}

TEST_F(LaneWatchTest, AStepSaysWhenAndHowLong) {
  Step(false, {.why = Why::kUncovered, .route = CallRoute::kRanEagerly});
  const std::vector<LoggedStep> steps = watch_.log().Last();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].at_ns, 2000);
  EXPECT_EQ(steps[0].ran_ns, 1000u);
}

TEST(LaneWatchOffTest, CountsAndLooksAtNoClock) {
  LaneWatch watch([]() -> int64_t { ADD_FAILURE() << "a look at the clock"; return 0; }, false);
  ShapeWatch shape(0, {.tokens = 8}, Mode::kFull);
  for (int i = 0; i < 100; ++i) {
    const int64_t began = watch.BeginTiming(/*expects_replay=*/i % 2 == 0);
    LoggedStep step = {.why = Why::kCover, .route = CallRoute::kReplayed};
    watch.Note(step, began, 1, shape);
  }
  EXPECT_EQ(watch.count(Why::kCover), 100u);
  EXPECT_EQ(watch.padded_tokens(), 100u);
  EXPECT_EQ(shape.why[static_cast<size_t>(Why::kCover)].get(), 100u);
  EXPECT_TRUE(watch.log().Last().empty());
}

TEST(DurationCountsTest, EachDurationIsInTheBucketThatEndsAfterIt) {
  for (uint64_t ns : {0ul, 1ul, 1023ul, 1024ul, 1025ul, 2047ul, 2048ul, 1ul << 33, 1ul << 34,
                      ~0ul}) {
    const size_t bucket = DurationCounts::BucketOf(ns);
    ASSERT_LT(bucket, DurationCounts::kBuckets);
    if (bucket + 1 < DurationCounts::kBuckets) {
      EXPECT_LT(ns, DurationCounts::EndOf(bucket));
    }
    if (bucket > 0) {
      EXPECT_GE(ns, DurationCounts::EndOf(bucket - 1));
    }
  }
}

}  // namespace
}  // namespace graphtree
