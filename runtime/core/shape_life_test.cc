// Each event in each state, and lives that a server has led.
#include "runtime/core/shape_life.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Event = std::function<void(ShapeLife&)>;

constexpr uint64_t kEpoch = 7;
constexpr uint64_t kMostPause = 4;
const std::vector<uint64_t> kBefore = {1, 1};
const std::vector<uint64_t> kNow = {1, 2};

const Event kRecord = [](ShapeLife& life) { life.Recorded(/*is_first=*/true, kNow, 0); };
const Event kRecordBehind = [](ShapeLife& life) { life.Recorded(/*is_first=*/false, kNow, 0); };
const Event kRecordBefore = [](ShapeLife& life) { life.Recorded(/*is_first=*/true, kBefore, 0); };
const Event kRecordApart = [](ShapeLife& life) { life.Recorded(/*is_first=*/true, kNow, kEpoch); };
const Event kReplay = [](ShapeLife& life) { life.Replayed(kNow); };
const Event kEvict = [](ShapeLife& life) {
  EXPECT_TRUE(life.Missed({CallRoute::kWarmedUp, {}}, /*is_first=*/true));
};
const Event kFindNoRoom = [](ShapeLife& life) {
  EXPECT_FALSE(life.Missed({CallRoute::kRanEagerly, Reason::kOverBudget}, /*is_first=*/true));
};
const Event kGiveUp = [](ShapeLife& life) {
  EXPECT_TRUE(life.Missed({CallRoute::kRanEagerly, Reason::kGivenUp}, /*is_first=*/true));
};
const Event kMissBehind = [](ShapeLife& life) {
  EXPECT_FALSE(life.Missed({CallRoute::kWarmedUp, {}}, /*is_first=*/false));
};
const Event kHit = [](ShapeLife& life) { life.Hit(); };
const Event kFail = [](ShapeLife& life) { life.Failed(Why::kNoMemory); };
const Event kFailServing = [](ShapeLife& life) { life.FailedServing(Why::kNoMemory, kMostPause); };
const Event kWait = [](ShapeLife& life) { life.Waited(); };
const Event kCommit = [](ShapeLife& life) { life.Committed(); };
const Event kExclude = [](ShapeLife& life) { life.Exclude(true); };
const Event kInclude = [](ShapeLife& life) { life.Exclude(false); };

struct Life {
  const char* name;
  std::vector<Event> events;
  Why usable;        // where steps record
  Why usable_ahead;  // where only Record does
  bool is_recorded;
  bool is_recorded_first;
  uint64_t epoch = 0;
};

const Life kLives[] = {
    {"Fresh", {}, Why::kHit, Why::kNotRecorded, false, false},
    {"Recorded", {kRecord}, Why::kHit, Why::kHit, true, true},
    {"RecordedBehind", {kRecordBehind}, Why::kHit, Why::kHit, true, false},
    {"RecordedBehindToo", {kRecord, kRecordBehind}, Why::kHit, Why::kHit, true, true},
    {"FreshOnlyBehind", {kRecordBefore, kRecordBehind}, Why::kHit, Why::kHit, true, false},
    {"HitAfterBehind", {kRecordBehind, kHit}, Why::kHit, Why::kHit, true, true},
    {"Evicted", {kRecord, kEvict}, Why::kHit, Why::kHit, false, false},
    {"GivenUp", {kRecord, kGiveUp}, Why::kHit, Why::kHit, false, false},
    {"NoRoom", {kRecord, kFindNoRoom}, Why::kHit, Why::kHit, true, true},
    {"MissedBehind", {kRecord, kMissBehind}, Why::kHit, Why::kHit, true, true},
    {"Failed", {kFail}, Why::kNoMemory, Why::kNoMemory, false, false},
    {"FailedAgain", {kRecord, kFail}, Why::kNoMemory, Why::kNoMemory, false, false},
    {"FailedThenRecorded", {kFail, kRecord}, Why::kHit, Why::kHit, true, true},
    {"FailedThenReplayed", {kFail, kReplay}, Why::kHit, Why::kHit, true, true},
    {"FailedThenIncluded", {kFail, kExclude, kInclude}, Why::kHit, Why::kNotRecorded, false, false},
    {"Excluded", {kRecord, kExclude}, Why::kExcluded, Why::kExcluded, true, true},
    {"ExcludedRecorded", {kExclude, kRecord}, Why::kExcluded, Why::kExcluded, true, true},
    {"ExcludedFailed", {kExclude, kFail}, Why::kExcluded, Why::kExcluded, false, false},
    {"Included", {kRecord, kExclude, kInclude}, Why::kHit, Why::kHit, true, true},
    {"EvictedIncluded", {kRecord, kEvict, kExclude, kInclude}, Why::kHit, Why::kHit, false, false},
    {"Waits", {kRecordApart}, Why::kNotCommitted, Why::kNotCommitted, true, true, kEpoch},
    {"WaitsExcluded", {kRecordApart, kExclude}, Why::kExcluded, Why::kExcluded, true, true, kEpoch},
    {"CommittedExcluded", {kRecordApart, kExclude, kCommit}, Why::kExcluded, Why::kExcluded, true,
     true},
    {"Committed", {kRecordApart, kCommit}, Why::kHit, Why::kHit, true, true},
    {"WaitsForNothing", {kRecordApart, kFail}, Why::kNoMemory, Why::kNoMemory, false, false},
    {"FailedCommitted", {kRecordApart, kFail, kCommit}, Why::kNoMemory, Why::kNoMemory, false,
     false},
    {"FailedServing", {kFailServing}, Why::kNoMemory, Why::kNoMemory, false, false},
    {"FailedServingTriedAgain", {kFailServing, kWait}, Why::kHit, Why::kNotRecorded, false, false},
    {"FailedServingTwice", {kFailServing, kWait, kFailServing, kWait}, Why::kNoMemory,
     Why::kNoMemory, false, false},
    {"FailedServingTwiceTriedAgain", {kFailServing, kWait, kFailServing, kWait, kWait}, Why::kHit,
     Why::kNotRecorded, false, false},
    {"FailedServingExcluded", {kFailServing, kExclude, kWait}, Why::kExcluded, Why::kExcluded,
     false, false},
    {"FailedServingIncluded", {kFailServing, kExclude, kInclude}, Why::kHit, Why::kNotRecorded,
     false, false},
    {"FailedServingThenRecorded", {kFailServing, kRecord, kWait}, Why::kHit, Why::kHit, true, true},
    {"FailedAheadWaits", {kFail, kWait, kWait}, Why::kNoMemory, Why::kNoMemory, false, false},
    {"FailedAheadAfterServing", {kFailServing, kFail, kWait, kWait}, Why::kNoMemory,
     Why::kNoMemory, false, false},
    {"WasRecordedFailedServing", {kRecord, kFailServing, kWait}, Why::kHit, Why::kHit, false,
     false},
};

class ShapeLifeTest : public testing::TestWithParam<Life> {};

TEST_P(ShapeLifeTest, IsAsItsEventsHaveLeftIt) {
  const Life& expected = GetParam();
  ShapeLife life;
  for (const Event& event : expected.events) event(life);
  EXPECT_EQ(life.usable(/*records_while_serving=*/true), expected.usable);
  EXPECT_EQ(life.usable(/*records_while_serving=*/false), expected.usable_ahead);
  EXPECT_EQ(life.is_recorded(), expected.is_recorded);
  EXPECT_EQ(life.is_recorded_first(), expected.is_recorded_first);
  EXPECT_EQ(life.epoch(), expected.epoch);
}

INSTANTIATE_TEST_SUITE_P(Lives, ShapeLifeTest, testing::ValuesIn(kLives),
                         [](const testing::TestParamInfo<Life>& info) {
                           return std::string(info.param.name);
                         });

// How many steps go by before the next try, for each failure in a row.
std::vector<uint64_t> PausesOf(ShapeLife& life, size_t failures) {
  std::vector<uint64_t> pauses;
  for (size_t i = 0; i < failures; ++i) {
    kFailServing(life);
    uint64_t steps = 0;
    do {
      ++steps;
    } while (!life.Waited() && steps < 100);
    pauses.push_back(steps);
  }
  return pauses;
}

TEST(ShapeLifeRetryTest, TriesPauseForTwiceAsLongUpToTheMost) {
  ShapeLife life;
  EXPECT_EQ(PausesOf(life, 5), (std::vector<uint64_t>{1, 2, 4, 4, 4}));
  EXPECT_FALSE(life.Waited()) << "told once, when the pause is over";
  kRecord(life);
  EXPECT_EQ(PausesOf(life, 2), (std::vector<uint64_t>{1, 2})) << "only failures in a row count";
  life = ShapeLife();
  EXPECT_EQ(PausesOf(life, 70).back(), kMostPause);
}

TEST(ShapeLifeRouteTest, WhatRunsAtOnceToBeRecordedApartHasNoRecording) {
  ShapeLife life;
  kRecord(life);
  EXPECT_TRUE(life.Missed({CallRoute::kRanEagerly, Reason::kRecordedApart}, /*is_first=*/true));
  EXPECT_FALSE(life.is_recorded());
  EXPECT_EQ(life.generations(), kNow) << "so that one can say what was touched";
}

}  // namespace
}  // namespace graphtree
