// The table of decide.h, rule by rule: each fact alone decides by its rule, whatever later rules
// would say.
#include "graphs/run/decide.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Route = Decision::Route;

// A call that would be recorded.
MissFacts Recordable() {
  MissFacts facts;
  facts.warm = true;
  facts.rerecord_limit = 3;
  return facts;
}

struct Case {
  const char* name;
  std::function<void(MissFacts*)> change;
  Rule rule;
  Route route;
  Reason reason;
};

template <PathState kState>
void DeadPathOf(MissFacts* facts) {
  facts->path = kState;
  facts->path_is_held = false;
}

const std::vector<Case>& Table() {
  static const auto* const table = new std::vector<Case>{
      {"not listed", [](MissFacts* f) { f->size = SizeVerdict::kNotListed; }, Rule::kSizeNotListed,
       Route::kEager, Reason::kSizeNotListed},
      {"varies", [](MissFacts* f) { f->size = SizeVerdict::kVaries; }, Rule::kSizesVary,
       Route::kEager, Reason::kSizesVary},
      {"dead path grows", DeadPathOf<PathState::kRecording>, Rule::kDeadPathGrows, Route::kNewPath,
       {}},
      {"long step",
       [](MissFacts* f) {
         f->is_long_step = true;
         f->path = PathState::kWarmUp;
         f->path_is_held = true;
       },
       Rule::kLongStep, Route::kEager, Reason::kLongStep},
      {"off", [](MissFacts* f) { f->enabled = false; }, Rule::kTreeOff, Route::kEager,
       Reason::kTreeOff},
      {"excluded", [](MissFacts* f) { f->excluded = true; }, Rule::kExcluded, Route::kEager,
       Reason::kExcluded},
      {"asks", [](MissFacts* f) { f->asks_for_ever = true; }, Rule::kWarmUpForEver, Route::kEager,
       Reason::kWarmUpForEver},
      {"elsewhere", [](MissFacts* f) { f->works_elsewhere = true; }, Rule::kWorksElsewhere,
       Route::kEager, Reason::kWorksElsewhere},
      {"written", [](MissFacts* f) { f->obstacle = RoleObstacle::kWritten; }, Rule::kMutatedInput,
       Route::kEager, Reason::kMutatedInput},
      {"overlap", [](MissFacts* f) { f->writes_overlap = true; }, Rule::kOverlappingInputs,
       Route::kEager, Reason::kOverlappingInputs},
      {"paused", [](MissFacts* f) { f->pause = 1; }, Rule::kPaused, Route::kEager, Reason::kPaused},
      {"given_up", [](MissFacts* f) { f->pause = 1, f->was_given_up = true; }, Rule::kPaused,
       Route::kEager, Reason::kGivenUp},
      {"too often", [](MissFacts* f) { f->is_rerecorded_too_often = true; },
       Rule::kRerecordedTooOften, Route::kEager, Reason::kRerecordLimit},
      {"no place", [](MissFacts* f) { f->has_place = false; }, Rule::kNoPlace, Route::kEager,
       Reason::kShapeLimit},
      {"cold", [](MissFacts* f) { f->warm = false; }, Rule::kWarmUp, Route::kWarmUp, {}},
      {"match", [](MissFacts* f) { f->matches = true; }, Rule::kReplay, Route::kReplay, {}},
      {"dead path", DeadPathOf<PathState::kReplaying>, Rule::kNewPath, Route::kNewPath, {}},
      {"moves", [](MissFacts* f) { f->obstacle = RoleObstacle::kMoves; }, Rule::kInputMoves,
       Route::kEager, Reason::kInputMoves},
      {"one too many",
       [](MissFacts* f) {
         f->sibling = Sibling{Reason::kLivenessDiffers, false};
         f->rerecords = f->rerecord_limit;
       },
       Rule::kOneTooMany, Route::kEager, Reason::kRerecordLimit},
      {"recorded apart", [](MissFacts* f) { f->waits_for_record = true; }, Rule::kRecordedApart,
       Route::kEager, Reason::kRecordedApart},
      {"nothing", [](MissFacts*) {}, Rule::kRecord, Route::kRecord, {}},
  };
  return *table;
}

TEST(DecideTest, EachFactAloneDecidesByItsRule) {
  for (const Case& row : Table()) {
    MissFacts facts = Recordable();
    row.change(&facts);
    const Decision decision = Decide(facts);
    EXPECT_EQ(decision.rule, row.rule) << row.name;
    EXPECT_EQ(decision.route, row.route) << row.name;
    if (row.route != Route::kEager) continue;
    EXPECT_EQ(decision.reason, row.reason) << row.name;
  }
}

// Facts that set one field (the path, the size, the obstacle) to different values are not combined.
TEST(DecideTest, TheFirstRuleThatHoldsDecides) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    MissFacts facts = Recordable();
    std::vector<const Case*> applied;
    for (auto row = Table().rbegin(); row != Table().rend(); ++row) {
      if (random() % 4 != 0) continue;
      row->change(&facts);  // the earlier rule's change comes last, so that it holds
      applied.push_back(&*row);
    }
    if (applied.empty()) continue;
    EXPECT_EQ(Decide(facts).rule, applied.back()->rule) << "round " << round;
  }
}

TEST(DecideTest, APathOfWarmUpsGrowsWarmUpsOnly) {
  MissFacts facts = Recordable();
  facts.path = PathState::kWarmUp;
  facts.path_is_held = true;
  facts.matches = true;
  EXPECT_EQ(Decide(facts).rule, Rule::kWarmUp);
}

TEST(DecideTest, ALongStepOfRecordingsGoesOnRecording) {
  MissFacts facts = Recordable();
  facts.is_long_step = true;
  facts.path = PathState::kRecording;
  facts.path_is_held = true;
  EXPECT_EQ(Decide(facts).rule, Rule::kRecord);
}

TEST(DecideTest, AReplayedPathThatIsHeldGoesOn) {
  MissFacts facts = Recordable();
  facts.path = PathState::kReplaying;
  facts.path_is_held = true;
  EXPECT_EQ(Decide(facts).rule, Rule::kRecord);
}

TEST(DecideTest, AnExpectedSiblingCountsForNothing) {
  MissFacts facts = Recordable();
  facts.rerecords = facts.rerecord_limit;
  facts.sibling = Sibling{Reason::kStaticMoved, true};
  EXPECT_EQ(Decide(facts).rule, Rule::kRecord);
}

TEST(DecideTest, OneBelowTheLimitIsRecorded) {
  MissFacts facts = Recordable();
  facts.sibling = Sibling{Reason::kLivenessDiffers, false};
  facts.rerecords = facts.rerecord_limit - 1;
  EXPECT_EQ(Decide(facts).rule, Rule::kRecord);
}

// What the first recording has shown may forbid the second one; other rules are not asked again.
TEST(DecideTest, ARecordingThatIsMadeAgainIsRefusedByRulesUpToTheThirteenth) {
  for (const Case& row : Table()) {
    MissFacts facts = Recordable();
    row.change(&facts);
    facts.is_again = true;
    const bool is_asked = row.rule <= Rule::kNoPlace && row.rule != Rule::kDeadPathGrows;
    EXPECT_EQ(Decide(facts).rule, is_asked ? row.rule : Rule::kRecord) << row.name;
  }
}

TEST(DecideTest, AGrowingPathThatDiesEndsWhetherTheFunctionIsRecordedOrNot) {
  for (const PathState state : {PathState::kWarmUp, PathState::kRecording}) {
    MissFacts facts = Recordable();
    facts.path = state;
    facts.excluded = true;
    EXPECT_EQ(Decide(facts).rule, Rule::kDeadPathGrows);
    facts.path_is_held = true;
    EXPECT_EQ(Decide(facts).rule, Rule::kExcluded);
  }
}

TEST(DecideTest, TheFirstEightRulesSettleACallEarly) {
  for (const Case& row : Table()) {
    MissFacts facts = Recordable();
    row.change(&facts);
    EXPECT_EQ(IsSettledEarly(facts), row.rule <= Rule::kWorksElsewhere) << row.name;
  }
}

TEST(JudgeRerecordsTest, BelowTheLimitNothingChanges) {
  const RerecordVerdict verdict = JudgeRerecords({3, 0}, 3, 10);
  EXPECT_FALSE(verdict.is_too_often);
  EXPECT_EQ(verdict.after.count, 3u);
}

TEST(JudgeRerecordsTest, HalfIsForgivenAfterSoManyRefusals) {
  Rerecords seen = {5, 0};
  for (int refusals = 1; refusals < 10; ++refusals) {
    const RerecordVerdict verdict = JudgeRerecords(seen, 3, 10);
    ASSERT_TRUE(verdict.is_too_often) << refusals;
    seen = verdict.after;
  }
  const RerecordVerdict forgiven = JudgeRerecords(seen, 3, 10);
  EXPECT_FALSE(forgiven.is_too_often);
  EXPECT_EQ(forgiven.after.count, 2u);
  EXPECT_EQ(forgiven.after.refused, 0u);
}

TEST(JudgeRerecordsTest, HalfOfFarTooManyIsTooManyStill) {
  EXPECT_TRUE(JudgeRerecords({100, 9}, 3, 10).is_too_often);
}

}  // namespace
}  // namespace graphtree
